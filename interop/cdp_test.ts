import { chmod, mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { cdp, chromium, findBrowser } from "@envport/cdp";
import { connect } from "@envport/client";
import { Environment, serve } from "@envport/server";
import type { Server } from "@envport/server";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { peer, servePeer } from "./_peer.ts";

const FORM = "<title>form</title><form action=/sent><input name=q><button>Go</button></form>";
const site = createServer((request, response) => {
  const page = request.url?.startsWith("/sent") ? "<title>sent</title>" : FORM;
  response.setHeader("content-type", "text/html; charset=utf-8").end(page);
});
let url: string;
beforeAll(async () => {
  await new Promise<void>((resolve) => site.listen(0, "127.0.0.1", resolve));
  url = `http://127.0.0.1:${String((site.address() as AddressInfo).port)}/`;
});
afterAll(() => {
  site.closeAllConnections();
  site.close();
});

describe.each(["in a sandbox", "without a sandbox"])("a browser of ours %s", (how) => {
  const python = peer("browser");
  const sandbox = how === "in a sandbox";
  const address = (): string => (sandbox ? "http://site:8080/" : url);
  let server: Server;
  beforeAll(async () => {
    const env = new Environment({ name: "web" });
    const peers = [{ name: "site", port: 8080, target: { port: (site.address() as AddressInfo).port } }];
    env.use(chromium(sandbox ? { peers } : {}));
    server = await serve(env);
  });
  afterAll(async () => {
    await python[Symbol.asyncDispose]();
    await server.close();
  });

  test("is behind a forwarder of the peer's", async () => {
    expect(await python.call("binding", server.url)).toEqual({
      url: expect.stringMatching(/^ws:\/\/127\.0\.0\.1:\d+$/),
      protocol: "cdp/1.3",
      params: {},
    });
  });

  test("is driven by the peer's CDPClient: a form, and a picture", async () => {
    expect(await python.call("driven", server.url, address())).toEqual(["sent", "grüße 😀", "89504e47"]);
  });

  test("tells the peer's CDPClient what it refuses, and goes on", async () => {
    expect(await python.call("refused", server.url)).toEqual([-32000, 42]);
  });

  test("answers 200 commands of the peer's at once", async () => {
    const expected = Array.from({ length: 200 }, (_, i) => i * 2);
    expect(await python.call("together", server.url, 200)).toEqual(expected);
  });

  test("is driven by Python's Playwright: a form, a dialog, a popup, a picture", async () => {
    expect(await python.call("by_playwright", server.url, address())).toEqual(["sent", true, "ffd8ff"]);
  });
});

test.each(["", "http://", "ws://"])(
  "our client drives a browser that a Python environment publishes as '%shost:port'",
  async (form) => {
    const root = await mkdtemp(path.join(tmpdir(), "envport-interop-"));
    await chmod(root, 0o755);
    onTestFinished(() => rm(root, { recursive: true, force: true, maxRetries: 5 }));
    const { path: program } = await findBrowser();
    await using served = await servePeer("browser_environment", {
      BROWSER: program,
      BROWSER_ROOT: root,
      FORM: form,
    });
    await using client = await connect(served.url);
    const task = await client.start("title");
    const browser = await client.open(cdp);
    await browser.page.goto(url);
    await browser.page.type("tea\n", { into: "input" });
    await browser.page.waitForIdle();
    expect(await browser.page.evaluate("document.title")).toBe("sent");
    await browser.page.evaluate("document.title = 'hello'");
    const answer = await browser.page.evaluate<string>("document.title");
    expect((await browser.page.screenshot()).subarray(1, 4).toString()).toBe("PNG");
    const playwright = await browser.playwright();
    expect(await playwright.contexts()[0]!.pages()[0]!.title()).toBe("hello");
    await playwright.close();
    expect(await task.grade(answer)).toMatchObject({ score: 1 });
  },
);
