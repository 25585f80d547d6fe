import assert from "node:assert/strict";
import { afterAll, beforeAll, test } from "vitest";
import { serveSite } from "./_testing.ts";
import type { Site } from "./_testing.ts";
import { CdpClient } from "./cdp_client.ts";
import { chromium } from "./chromium.ts";
import type { ChromiumService } from "./chromium_service.ts";

let service: ChromiumService;
let browser: CdpClient;
let site: Site;
beforeAll(async () => {
  site = await serveSite({
    "/": `<title>form</title><form action=/sent><input name=q><button>Go</button></form><a href=/tall>tall</a>`,
    "/sent": `<title>sent</title><h1>Thank you</h1>`,
    "/tall": `<title>tall</title><body style="margin:0"><div style="height:3000px;background:linear-gradient(red,blue)">`,
  });
  service = chromium();
  const [capability] = await service.start();
  browser = await CdpClient.connect(capability!);
}, 90_000);
afterAll(async () => {
  await browser?.close();
  await service?.stop();
  await site[Symbol.asyncDispose]();
});

test("a form is filled in and sent by typing", async () => {
  const { page } = browser;
  await page.goto(`${site.url}/`);
  await page.type("grüße 😀 a+B\n", { into: "input" });
  await page.waitForIdle();
  assert.equal(await page.evaluate("document.title"), "sent");
  assert.equal(await page.evaluate("new URLSearchParams(location.search).get('q')"), "grüße 😀 a+B");
});

test("the viewport is as large as was asked for", async () => {
  assert.deepEqual(await browser.page.evaluate("[innerWidth, innerHeight]"), [1280, 720]);
});
