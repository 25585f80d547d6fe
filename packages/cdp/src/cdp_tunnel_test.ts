import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "@envport/client";
import type { Client } from "@envport/client";
import { Environment, serve } from "@envport/server";
import type { Server } from "@envport/server";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { WebSocket } from "ws";
import { detourTo, serveSite, silent } from "./_testing.ts";
import type { Detour, Site } from "./_testing.ts";
import { familyOf, wordsOf } from "./_testing_processes.ts";
import { cdp } from "./cdp.ts";
import { cdpCapability } from "./cdp_capability.ts";
import { CdpClient } from "./cdp_client.ts";
import { chromium } from "./chromium.ts";

const EVIL = "--host-resolver-rules=MAP evil.test 127.0.0.1";

let site: Site;
let server: Server;
let detour: Detour;
let client: Client;
let browser: CdpClient;
/** The forwarder's address. */
let local: string;
let graded = 0;
beforeAll(async () => {
  site = await serveSite({
    "/": "<title>site</title><button onclick=n++>n</button><script>let n = 0</script>",
  });
  const env = new Environment({ name: "test" });
  env.use(chromium({ args: [EVIL] }));
  env.template("count").run(async function* () {
    graded++;
    yield "prompt";
    yield 1;
  });
  server = await serve(env, { logger: silent });
  detour = await detourTo(server.url);
  client = await connect(detour.url, { logger: silent });
  browser = await client.open(cdp);
  local = new URL(client.binding("browser").url).host;
}, 90_000);
afterAll(async () => {
  await client.close();
  await detour[Symbol.asyncDispose]();
  await server.close();
  await site[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await browser.page.goto(`${site.url}/`);
});

/** The browser's socket through the forwarder. */
async function socketUrl(): Promise<string> {
  const version = (await (await fetch(`http://${local}/json/version`)).json()) as {
    webSocketDebuggerUrl: string;
  };
  return version.webSocketDebuggerUrl;
}

test("client.open finds the browser, whatever form its url has", async () => {
  const path = new URL(await socketUrl()).pathname;
  const { targetId } = browser.page;
  const urls = [local, `ws://${local}`, `ws://${local}/`, `http://${local}`, `ws://${local}${path}`];
  for (const url of [
    ...urls,
    `ws://${local}/devtools/page/${targetId}`,
    `http://localhost:${local.split(":")[1]!}`,
  ]) {
    await using other = await CdpClient.connect(cdpCapability({ url }));
    assert.equal(await other.page.evaluate("document.title"), "site");
    assert.equal(other.page.targetId, targetId);
  }
});

test("a binding that names a page leads to it, and one that names none to an error", async () => {
  const second = await browser.newPage("about:blank");
  await using other = await CdpClient.connect(cdpCapability({ url: local, targetId: second.targetId }));
  assert.equal(other.page.targetId, second.targetId);
  await second.close();
  await expect(CdpClient.connect(cdpCapability({ url: local, targetId: "NONE" }))).rejects.toMatchObject({
    code: "target-closed",
  });
});

test("what is no browser is told as such", async () => {
  await expect(CdpClient.connect(cdpCapability({ url: site.url }))).rejects.toMatchObject({
    code: "unsupported",
    message: expect.stringContaining("HTTP 404 to GET /json/version"),
  });
  await expect(CdpClient.connect(cdpCapability({ url: "127.0.0.1:1" }))).rejects.toMatchObject({
    code: "connection-lost",
  });
  await using mute = await serveSite({}, () => undefined);
  const connecting = CdpClient.connect(cdpCapability({ url: mute.url }), { connectTimeout: 200 });
  await expect(connecting).rejects.toMatchObject({ code: "timeout" });
});

test(
  "Playwright, raw CDP and our client work on one page at once, through one tunnel",
  { timeout: 60_000 },
  async () => {
    await using other = await CdpClient.connect(client.binding("browser"));
    const playwright = await browser.playwright();
    const raw = new WebSocket(await socketUrl(), { perMessageDeflate: false });
    await once(raw, "open");
    raw.setMaxListeners(100);
    let lastId = 0;
    const ask = (method: string, params: object, sessionId?: string): Promise<Record<string, unknown>> => {
      const id = ++lastId;
      raw.send(JSON.stringify({ id, method, params, sessionId }));
      return new Promise((resolve) => {
        const listen = (data: Buffer): void => {
          const message = JSON.parse(data.toString());
          if (message.id !== id) return;
          raw.off("message", listen);
          resolve(message.result);
        };
        raw.on("message", listen);
      });
    };
    const { targetId } = browser.page;
    const attached = await ask("Target.attachToTarget", { targetId, flatten: true });
    const sessionId = String(attached["sessionId"]);
    const page = playwright
      .contexts()[0]!
      .pages()
      .find((candidate) => candidate.url() === `${site.url}/`)!;
    const count = { expression: "n++" };
    await Promise.all([
      ...Array.from({ length: 10 }, () => page.click("button")),
      ...Array.from({ length: 50 }, () => ask("Runtime.evaluate", count, sessionId)),
      ...Array.from({ length: 50 }, () => browser.page.evaluate("n++")),
      ...Array.from({ length: 50 }, () => other.page.evaluate("n++")),
    ]);
    assert.equal(await page.evaluate("n"), 160);
    const popup = playwright.contexts()[0]!.waitForEvent("page");
    await browser.page.evaluate("void window.open('about:blank')");
    await (await popup).close();
    raw.close();
    await playwright.close();
    assert.equal(await browser.page.evaluate("n"), 160);
  },
);

test("a cut tunnel fails what is under way, leaves the page, and is made anew for the same page", async () => {
  const { page } = browser;
  await page.evaluate("n = 41");
  const lost = page.evaluate("new Promise(() => {})");
  const reconnected = once(browser, "reconnect");
  detour.cutTunnels();
  await expect(lost).rejects.toMatchObject({ code: "connection-lost" });
  assert.equal(await page.evaluate("++n"), 42);
  await reconnected;
  await page.click("button");
  await page.waitForIdle();
  assert.equal(await page.evaluate("n"), 43);
});

test("a page that was closed while the tunnel was cut is told as gone", async () => {
  const second = await browser.newPage("about:blank");
  await using other = await CdpClient.connect(cdpCapability({ url: local }));
  const there = await other.attach(second.targetId);
  detour.cutTunnels();
  await Promise.allSettled([browser.send("Browser.getVersion"), other.send("Browser.getVersion")]);
  await browser.send("Target.closeTarget", { targetId: second.targetId });
  await expect(there.evaluate("1")).rejects.toMatchObject({ code: "target-closed" });
  assert.equal(await browser.page.evaluate("document.title"), "site");
});

test("a crashed renderer is told at once, and the page comes back", async () => {
  const page = await browser.newPage("about:blank");
  await page.goto(`${site.url}/`);
  const waiting = page.evaluate("new Promise(() => {})");
  const crash = once(page, "crash");
  page.send("Page.crash").catch(() => undefined);
  await expect(waiting).rejects.toMatchObject({ code: "target-crashed" });
  await crash;
  await expect(page.evaluate("1")).rejects.toMatchObject({ code: "target-crashed" });
  assert.equal(page.crashed, true);
  await page.goto(`${site.url}/`);
  assert.equal(await page.evaluate("document.title"), "site");
  await page.close();
});

test("a hung page is told by the time-out, and neither others nor a new client wait for it", async () => {
  const page = await browser.newPage("data:text/html,hung");
  await page.waitForIdle();
  const hung = page.evaluate("for (;;);", { timeout: 1_000 });
  await expect(hung).rejects.toMatchObject({ code: "timeout" });
  await expect(page.screenshot({ timeout: 500 })).rejects.toMatchObject({ code: "timeout" });
  assert.equal(await browser.page.evaluate("document.title"), "site");
  await using other = await CdpClient.connect(client.binding("browser"));
  const same = await other.attach(browser.page.targetId);
  assert.equal(await same.evaluate("document.title"), "site");
  await page.send("Runtime.terminateExecution", undefined, { timeout: 5_000 });
  assert.equal(await page.evaluate("1"), 1);
  await page.close();
});

test("a page that a script keeps busy fails its commands as hung, and goes on when it is free", async () => {
  const page = await browser.newPage("data:text/html,busy");
  await page.waitForIdle();
  const waiting = page.evaluate("new Promise((resolve) => setTimeout(resolve, 7_000, 'slow'))");
  await waiting; // slow is not hung
  const busy = page.evaluate("for (;;);");
  const other = page.screenshot();
  await expect(busy).rejects.toMatchObject({ code: "target-hung" });
  await expect(other).rejects.toMatchObject({ code: "target-hung" });
  await page.send("Runtime.terminateExecution", undefined, { timeout: 5_000 });
  assert.equal(await page.evaluate("1"), 1);
  await page.close();
});

test("a hung and a crashed page can be closed", async () => {
  const hung = await browser.newPage(`${site.url}/`);
  await hung.waitForIdle();
  hung.evaluate("for (;;);").catch(() => undefined);
  await hung.close();
  const crashing = await browser.newPage(`${site.url}/`);
  await crashing.waitForIdle();
  const crash = once(crashing, "crash");
  crashing.send("Page.crash").catch(() => undefined);
  await crash;
  await crashing.close();
  assert.deepEqual([hung.closed, crashing.closed], [true, true]);
});

test("a web page can drive neither the control port nor the browser through the forwarder", async () => {
  const control = new URL(server.url.replace("tcp:", "http:")).port;
  const path = new URL(await socketUrl()).pathname;
  const results = await browser.page.evaluate(
    async (port: string, address: string, socket: string) => {
      const read = (url: string, init?: RequestInit): Promise<string> =>
        fetch(url, init).then(
          (r) => (r.type === "opaque" ? "opaque" : r.text()),
          () => "refused",
        );
      const open = (url: string): Promise<string> =>
        new Promise((resolve) => {
          const ws = new globalThis.WebSocket(url);
          ws.onopen = () => resolve("open");
          ws.onerror = () => resolve("refused");
        });
      const frames = ["hello", "tasks.start", "tasks.grade"].map((method, id) =>
        JSON.stringify({ jsonrpc: "2.0", id, method, params: { id: "count", args: {} } }),
      );
      const post = { method: "POST", mode: "no-cors", body: `${frames.join("\n")}\n` } as const;
      return [
        await read(`http://127.0.0.1:${port}/`, post),
        await open(`ws://127.0.0.1:${port}/`),
        await read(`http://${address}/json/list`),
        await read(`http://${address}/json/new?about:blank`, { method: "PUT" }),
        await open(`ws://${address}${socket}`),
      ];
    },
    { args: [control, local, path] },
  );
  expect(results[0]).toMatch(/^(?:refused|opaque)$/);
  assert.deepEqual(results.slice(1), ["refused", "refused", "refused", "refused"]);
  assert.equal(graded, 0);
});

test("a name that means this machine opens nothing (DNS rebinding)", async () => {
  const path = new URL(await socketUrl()).pathname;
  const [, port] = local.split(":");
  const page = await browser.newPage("about:blank");
  await page.goto(`http://evil.test:${port!}/json/list`).catch(() => undefined);
  expect(await page.evaluate("document.documentElement.innerText")).not.toContain(page.targetId);
  await page.goto(`http://evil.test:${String(site.port)}/`);
  const opened = await page.evaluate(
    (url: string) =>
      new Promise((resolve) => {
        const ws = new globalThis.WebSocket(url);
        ws.onopen = () => resolve("open");
        ws.onerror = () => resolve("refused");
      }),
    { args: [`ws://evil.test:${port!}${path}`] },
  );
  assert.equal(opened, "refused");
  await page.close();
});

test("a killed browser is told at once, by every call", { timeout: 60_000 }, async () => {
  const waiting = browser.page.evaluate("new Promise(() => {})");
  const [pid] = familyOf(process.pid).filter((member) => wordsOf(member).includes("--remote-debugging-port"));
  process.kill(pid!, "SIGKILL");
  await expect(waiting).rejects.toMatchObject({ code: "connection-lost" });
  await expect(browser.page.evaluate("1")).rejects.toMatchObject({ code: "connection-lost" });
  await browser.close();
  await expect(browser.send("Browser.getVersion")).rejects.toMatchObject({ code: "closed" });
});
