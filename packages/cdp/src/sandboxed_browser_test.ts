import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { connect } from "@envport/client";
import type { Client } from "@envport/client";
import { Environment, serve } from "@envport/server";
import type { Server } from "@envport/server";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { serveSite, silent } from "./_testing.ts";
import type { Site } from "./_testing.ts";
import { cdp } from "./cdp.ts";
import type { CdpClient } from "./cdp_client.ts";
import type { CdpPage } from "./cdp_page.ts";
import { chromium } from "./chromium.ts";
import type { ChromiumService } from "./chromium_service.ts";

let service: ChromiumService;
let server: Server;
let client: Client;
let browser: CdpClient;
let page: CdpPage;
let site: Site;
let inner: number;
let forwarder: string;
/** A folder on this machine that everybody may write. */
const outside = mkdtempSync(join(tmpdir(), "envport-cdp-test-"));
beforeAll(async () => {
  site = await serveSite(
    { "/": "<title>shop</title><input type=file><a href=/file>file</a>" },
    (_, response) => response.setHeader("content-disposition", "attachment; filename=list.txt").end("goods"),
  );
  const target = { port: site.port };
  const names = [
    { name: "shop", port: 8080 },
    { name: "shop", port: 80 },
    { name: "shop.example", port: 80 },
  ];
  service = chromium({
    allowedHosts: ["allowed.invalid"],
    peers: names.map((name) => ({ ...name, target })),
  });
  const env = new Environment({ name: "test" });
  env.use(service);
  server = await serve(env, { logger: silent });
  client = await connect(server.url, { logger: silent });
  inner = Number(new URL(client.bindings[0]!.url).port);
  forwarder = client.binding("browser").url;
  browser = await client.open(cdp);
  page = browser.page;
}, 90_000);
afterAll(async () => {
  await client.close();
  await server.close();
  await site[Symbol.asyncDispose]();
  rmSync(outside, { recursive: true });
});

const goesTo = async (url: string): Promise<unknown> =>
  page.goto(url, { timeout: 10_000 }).then(
    () => page.evaluate("performance.getEntriesByType('navigation')[0].responseStatus"),
    (error: unknown) => /net::\w+/.exec(String(error))?.[0] ?? String(error),
  );

test("it reaches the site that the task serves, by the name it was given", async () => {
  assert.equal(await goesTo("http://shop/"), 200);
  assert.equal(await goesTo("http://shop.example/"), 200);
  assert.equal(await goesTo("http://shop:8080/"), 200);
  assert.equal(await page.evaluate("document.title"), "shop");
  expect(await goesTo("http://shop.example:8080/")).toMatch(/^net::ERR_/);
  assert(site.seen.includes("/"));
});

test("it reaches no service of this machine, whatever it is called", async () => {
  const before = site.seen.length;
  const { port } = site;
  for (const host of ["127.0.0.1", "localhost", "shop", "[::1]", "0.0.0.0", "127.0.0.2", "a.localhost"]) {
    expect(await goesTo(`http://${host}:${String(port)}/`)).toMatch(/^net::ERR_/);
  }
  assert.equal(site.seen.length, before);
});

test("other hosts are refused by the proxy, and those on the list are looked up", async () => {
  const answers: unknown[] = [];
  page.on("Network.responseReceived", ({ type, response }) => {
    const reason = Object.entries(response.headers).find(([name]) => /^x-proxy-error$/i.test(name));
    if (type === "Document") answers.push([response.status, reason?.[1]]);
  });
  await goesTo("http://other.invalid/");
  await goesTo("http://allowed.invalid/");
  assert.deepEqual(answers, [
    [403, "blocked-by-allowlist"],
    [502, "upstream-failure"],
  ]);
  expect(await goesTo("http://169.254.169.254/latest/meta-data/")).toMatch(/^net::ERR_/);
  assert.equal(await goesTo("https://other.invalid/"), "net::ERR_TUNNEL_CONNECTION_FAILED");
});

test("a page finds the browser's own port, and can do nothing with it", async () => {
  await page.goto("http://shop:8080/");
  const version = await fetch(`${forwarder.replace("ws:", "http:")}/json/version`);
  const { webSocketDebuggerUrl } = JSON.parse(await version.text());
  const path = new URL(webSocketDebuggerUrl).pathname;
  const results = await page.evaluate(
    async (port: number, socket: string) => {
      const read = (url: string, init?: RequestInit): Promise<string> =>
        fetch(url, init).then(
          (r) => r.text(),
          () => "refused",
        );
      const open = (url: string): Promise<string> =>
        new Promise((resolve) => {
          const ws = new globalThis.WebSocket(url);
          ws.onopen = () => resolve("open");
          ws.onerror = () => resolve("refused");
        });
      const base = `127.0.0.1:${port}`;
      return [
        await read(`http://${base}/json/list`),
        await read(`http://${base}/json/new?about:blank`, { method: "PUT" }),
        await open(`ws://${base}${socket}`),
        await open(`ws://localhost:${port}${socket}`),
      ];
    },
    { args: [inner, path] },
  );
  assert.deepEqual(results, ["refused", "refused", "refused", "refused"]);
});

test("no file of this machine but its programs can be read", async () => {
  // A refused page may still be in the making: ask until it has a body.
  const shown = (): Promise<string> =>
    vi.waitFor(() => page.evaluate<string>("document.body.innerText"), { timeout: 5_000 });
  assert.equal(await goesTo(`file://${import.meta.filename}`), "net::ERR_FILE_NOT_FOUND");
  assert.equal(await goesTo(`file://${outside}/`), "net::ERR_FILE_NOT_FOUND");
  assert.equal(await goesTo("file:///root/"), "net::ERR_FILE_NOT_FOUND");
  await page.goto("file:///etc/shadow").catch(() => undefined);
  expect(await shown()).not.toContain("root:");
  await page.goto("file:///proc/1/environ").catch(() => undefined);
  expect(await shown()).not.toContain("PWD=");
});

test("a file of this machine cannot be uploaded", async () => {
  const secret = join(outside, "secret.txt");
  writeFileSync(secret, "secret", { mode: 0o644 });
  writeFileSync(join(service.home, "wanted.txt"), "wanted", { mode: 0o644 });
  await page.goto("http://shop:8080/");
  const upload = async (path: string): Promise<unknown> => {
    const { result } = await page.send("Runtime.evaluate", { expression: "document.querySelector('input')" });
    await page.send("DOM.setFileInputFiles", { files: [path], objectId: result.objectId! });
    return page.evaluate("document.querySelector('input').files[0].text().catch((e) => e.name)");
  };
  assert.equal(await upload(secret), "NotFoundError");
  assert.equal(await upload(import.meta.filename), "NotFoundError");
  assert.equal(await upload("/home/browser/wanted.txt"), "wanted");
});

test("a download lands in the home's folder of downloads by itself", async () => {
  await page.goto("http://shop:8080/");
  await page.click("a");
  const file = join(service.home, "Downloads/list.txt");
  await expect.poll(() => existsSync(file) && readFileSync(file, "utf8")).toBe("goods");
});

test("a download lands in its home, and nowhere else on this machine", async () => {
  const folder = join(outside, "downloads");
  mkdirSync(folder, { mode: 0o777 });
  const download = async (downloadPath: string): Promise<string> => {
    await browser.send("Browser.setDownloadBehavior", {
      behavior: "allow",
      downloadPath,
      eventsEnabled: true,
    });
    const over = new Promise<string>((resolve) => {
      browser.on("Browser.downloadProgress", ({ state }) => state !== "inProgress" && resolve(state));
    });
    await page.goto("http://shop:8080/");
    await page.click("a");
    return Promise.race([over, sleep(5_000, "nothing")]);
  };
  await download(folder);
  assert.deepEqual(readdirSync(folder), []);
  assert.equal(await download("/home/browser/downloads"), "completed");
  assert.equal(readFileSync(join(service.home, "downloads/list.txt"), "utf8"), "goods");
});

test("nothing that the browser can write stands where its socket is", async () => {
  const [capability] = await service.start();
  assert(capability?.dial && "path" in capability.dial);
  expect(capability.dial.path.startsWith(service.home)).toBe(false);
  expect(readdirSync(service.home)).not.toContain("devtools.sock");
});
