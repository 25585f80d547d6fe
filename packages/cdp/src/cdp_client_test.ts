import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { serveSite } from "./_testing.ts";
import type { Site } from "./_testing.ts";
import { CdpClient } from "./cdp_client.ts";
import type { CdpDialog } from "./cdp_dialog.ts";
import type { CdpPage } from "./cdp_page.ts";
import type { Point } from "./cdp_page_options.ts";
import { chromium } from "./chromium.ts";
import type { ChromiumService } from "./chromium_service.ts";

const FORM = `<title>form</title>
<h1>Order</h1>
<form action=/sent><label>Tea <input name=q></label><button>Go</button></form>
<textarea></textarea>
<button id=count onclick="this.textContent = ++n" ondblclick="document.title='twice'">0</button>
<button id=right oncontextmenu="document.title='menu';return false">menu</button>
<button id=ask onclick="document.title = confirm('Sure?')">ask</button>
<button id=name onclick="document.title = prompt('Name?', 'nobody')">name</button>
<button id=pop onclick="document.title = window.open('/popup') ? 'opened' : 'blocked'">pop</button>
<button id=load onclick="fetch('/slow').then((r) => r.text()).then((t) => (document.title = t))">load</button>
<p hidden id=hidden>hidden</p>
<script>let n = 0; addEventListener("keydown", (e) => (window.keys ??= []).push(e.key))</script>`;

let service: ChromiumService;
let browser: CdpClient;
let site: Site;
let page: CdpPage;
beforeAll(async () => {
  site = await serveSite(
    {
      "/": FORM,
      "/sent": `<title>sent</title><h1>Thank you</h1>`,
      "/popup": `<title>popup</title><script>alert("a popup says so")</script>`,
      "/tall": `<title>tall</title><body style="margin:0"><div style="height:3000px;background:linear-gradient(red,blue)">`,
      "/onwards": `<title>onwards</title><script>location.href = "/sent"</script>`,
      "/leaving": `<title>leaving</title><input><script>onbeforeunload = (e) => e.preventDefault()</script>`,
    },
    (request, response) => {
      if (request.url === "/slow") setTimeout(() => response.end("loaded"), 300);
      else if (request.url === "/late") setTimeout(() => response.end("<title>late</title>"), 1_000);
      else if (request.url === "/never") request.socket.resume();
      else if (request.url === "/file") response.setHeader("content-disposition", "attachment").end("x");
      else response.writeHead(404).end("<title>missing</title>");
    },
  );
  service = chromium();
  const [capability] = await service.start();
  browser = await CdpClient.connect(capability!);
  page = browser.page;
}, 90_000);
afterAll(async () => {
  await browser.close();
  await service.stop();
  await site[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await page.goto(`${site.url}/`);
});
const title = (): Promise<unknown> => page.evaluate("document.title");

test("a form is filled in and sent by typing", async () => {
  await page.type("grüße 😀 a+B!\n", { into: "input" });
  await page.waitForIdle();
  assert.equal(await title(), "sent");
  assert.equal(await page.evaluate("new URLSearchParams(location.search).get('q')"), "grüße 😀 a+B!");
});

test("type() presses the keys a person would, and replaces what is there", async () => {
  await page.type("one\ntwo", { into: "textarea" });
  assert.equal(await page.evaluate("document.querySelector('textarea').value"), "one\ntwo");
  assert.deepEqual(await page.evaluate("keys"), ["o", "n", "e", "Enter", "t", "w", "o"]);
  await page.type("three", { into: "textarea", replace: true });
  assert.equal(await page.evaluate("document.querySelector('textarea').value"), "three");
  await page.type("", { into: "textarea", replace: true });
  assert.equal(await page.evaluate("document.querySelector('textarea').value"), "");
});

test("press() takes keys together and refuses what is none", async () => {
  await page.type("word", { into: "textarea" });
  await page.press("Control+A");
  await page.press("Backspace");
  assert.equal(await page.evaluate("document.querySelector('textarea').value"), "");
  await page.press("Shift+Tab");
  assert.equal(await page.evaluate("document.activeElement.textContent"), "Go");
  await page.press("Control++");
  assert.equal(await page.evaluate("keys.at(-1)"), "+");
  await expect(page.press("Contrl+A")).rejects.toThrow(
    'Cannot press a key as there is none of that name: current value is "Contrl"',
  );
});

test("click() hits elements and points, with each button, once and twice", async () => {
  await page.click("#count");
  assert.equal(await page.evaluate("n"), 1);
  const point = await page.evaluate<Point>(
    "(({ left, top }) => ({ x: left + 3, y: top + 3 }))(document.querySelector('#count').getBoundingClientRect())",
  );
  await page.click(point, { count: 2 });
  assert.deepEqual([await page.evaluate("n"), await title()], [3, "twice"]);
  await page.click("#right", { button: "right" });
  assert.equal(await title(), "menu");
});

test("click() waits for an element to come, and says which did not", async () => {
  await page.evaluate(
    `void setTimeout(() => (document.body.innerHTML += "<a id=late onclick=n=9>late</a>"), 200)`,
  );
  await page.click("#late");
  assert.equal(await page.evaluate("n"), 9);
  await expect(page.click("#none", { findTimeout: 50 })).rejects.toMatchObject({
    code: "not-found",
    message: "Cannot act on '#none' as no element matches within 50 ms",
  });
  await expect(page.click("#hidden", { findTimeout: 50 })).rejects.toThrow("the element is not visible");
  await expect(page.click("a[[")).rejects.toMatchObject({ code: "evaluation-failed" });
});

test("scroll() turns the wheel, and a screenshot shows the view, the page or a part", async () => {
  await page.goto(`${site.url}/tall`);
  await page.scroll(700);
  await expect.poll(() => page.evaluate("scrollY")).toBe(700);
  const sizes = async (options: Parameters<CdpPage["screenshot"]>[0]): Promise<number[]> => {
    const png = await page.screenshot(options);
    return [png.readUInt32BE(16), png.readUInt32BE(20)];
  };
  assert.deepEqual(await sizes({}), [1280, 720]);
  assert.deepEqual(await sizes({ fullPage: true }), [1280, 3000]);
  assert.deepEqual(await sizes({ clip: { x: 10, y: 2000, width: 40, height: 30 } }), [40, 30]);
  const jpeg = await page.screenshot({ format: "jpeg", quality: 50 });
  const webp = await page.screenshot({ format: "webp", quality: 50 });
  assert.deepEqual([jpeg.subarray(0, 3).toString("hex"), webp.toString("latin1", 8, 12)], ["ffd8ff", "WEBP"]);
  await expect(page.screenshot({ quality: 50 })).rejects.toThrow(RangeError);
  if (process.env["KEEP_SCREENSHOT"]) {
    await page.goto(`${site.url}/`);
    await writeFile(process.env["KEEP_SCREENSHOT"], await page.screenshot());
  }
});

test("evaluate() takes functions with arguments, waits for promises, and tells what was thrown", async () => {
  assert.equal(await page.evaluate((a: number, b: number) => a + b, { args: [2, 3] }), 5);
  assert.deepEqual(await page.evaluate("Promise.resolve({a: [1, null]})"), { a: [1, null] });
  assert.deepEqual(
    [await page.evaluate("0/0"), await page.evaluate("-0"), await page.evaluate("2n**70n")],
    [NaN, -0, 2n ** 70n],
  );
  assert.equal(await page.evaluate("undefined"), undefined);
  await expect(page.evaluate("missing.value")).rejects.toMatchObject({
    code: "evaluation-failed",
    message: expect.stringContaining("ReferenceError: missing is not defined"),
  });
});

test("the accessibility tree has what a screen reader would find", async () => {
  const { role, name, children } = await page.accessibilityTree();
  assert.deepEqual([role, name], ["RootWebArea", "form"]);
  const flat: string[] = [];
  const walk = (nodes: typeof children): void => {
    for (const node of nodes) {
      flat.push(`${node.role} ${node.name}`);
      walk(node.children);
    }
  };
  walk(children);
  expect(flat).toEqual(expect.arrayContaining(["heading Order", "textbox Tea", "button Go", "button ask"]));
  expect(flat.join()).not.toContain("hidden");
  expect(flat.join()).not.toContain("InlineTextBox");
});

test("waitForIdle() waits for what a click has asked for", async () => {
  await page.click("#load");
  await page.waitForIdle();
  assert.equal(await title(), "loaded");
  await page.evaluate(`void fetch("/never")`);
  await expect(page.waitForIdle({ timeout: 700 })).rejects.toMatchObject({ code: "timeout" });
});

test("goto() follows pages that go on, tells what cannot be loaded, and lets downloads be", async () => {
  await page.goto(`${site.url}/onwards`);
  await page.waitForIdle();
  assert.equal(await title(), "sent");
  await page.goto(`${site.url}/missing`, { waitUntil: "domcontentloaded" });
  assert.equal(await title(), "missing");
  await page.goto(`${site.url}/sent#part`, { waitUntil: "networkidle" });
  await page.goto(`${site.url}/sent#other`);
  assert.equal(await page.evaluate("location.hash"), "#other");
  await page.goto(`${site.url}/file`);
  await expect(page.goto("http://127.0.0.1:1/")).rejects.toMatchObject({ code: "navigation-failed" });
  await expect(page.goto("http://no.such.host.invalid/")).rejects.toMatchObject({
    code: "navigation-failed",
  });
  await expect(page.goto("nonsense")).rejects.toMatchObject({ code: "refused", protocolCode: -32000 });
  await expect(page.goto(`${site.url}/never`, { timeout: 300 })).rejects.toMatchObject({ code: "timeout" });
});

test("a dialog that nobody listens for is answered: an alert yes, a question no", async () => {
  await page.click("#ask");
  await expect.poll(title).toBe("false");
  assert.equal(await page.evaluate("alert('x') ?? 'went on'"), "went on");
  await page.goto(`${site.url}/leaving`);
  await page.type("typed", { into: "input" });
  await page.goto(`${site.url}/sent`);
  assert.equal(await title(), "sent");
});

test("a dialog that somebody listens for is theirs, and a click that opens it does not hang", async () => {
  const dialogs: CdpDialog[] = [];
  const listen = (dialog: CdpDialog): void => void dialogs.push(dialog);
  page.on("dialog", listen);
  await page.click("#ask");
  await expect.poll(() => page.dialog?.message).toBe("Sure?");
  await expect(page.evaluate("1", { timeout: 300 })).rejects.toMatchObject({
    code: "timeout",
    message: expect.stringContaining('while a dialog is open: "Sure?"'),
  });
  await page.dialog!.accept();
  assert.equal(await title(), "true");
  assert.equal(page.dialog, undefined);
  await page.click("#name");
  await expect.poll(() => page.dialog?.defaultPrompt).toBe("nobody");
  await dialogs.at(-1)!.accept("somebody");
  assert.equal(await title(), "somebody");
  page.off("dialog", listen);
});

test("a popup that opens with a dialog hangs neither itself nor its opener", async () => {
  const opened = new Promise<CdpPage>((resolve) => browser.once("page", resolve));
  await page.click("#pop");
  await expect.poll(title).toBe("opened");
  const popup = await opened;
  assert.equal(popup.openerId, page.targetId);
  assert.equal(await popup.evaluate("document.title"), "popup");
  await popup.close();
  assert.equal(popup.closed, true);
  await expect(popup.evaluate("1")).rejects.toMatchObject({ code: "target-closed" });
});

test("waitForIdle() waits for what a popup has asked for before anybody knew of it", async () => {
  const opened = new Promise<CdpPage>((resolve) => browser.once("page", resolve));
  await page.evaluate("void window.open('/late')");
  const popup = await opened;
  await popup.waitForIdle();
  assert.equal(await popup.evaluate("document.title"), "late");
  await popup.close();
});

test("pages are opened, listed, attached to and closed", async () => {
  const second = await browser.newPage(`${site.url}/sent`);
  await second.waitForIdle();
  assert.equal(second.url, `${site.url}/sent`);
  await second.evaluate("history.pushState(null, '', '/sent?again')");
  assert.equal(second.url, `${site.url}/sent?again`);
  assert.equal(await browser.attach(second.targetId), second);
  const listed = (await browser.targets()).map(({ targetId }) => targetId);
  expect(listed).toEqual(expect.arrayContaining([page.targetId, second.targetId]));
  assert.deepEqual(browser.pages.length, 2);
  await second.close();
  await second.close();
  assert.equal(browser.page, page);
  await expect(browser.attach("NONE")).rejects.toMatchObject({ code: "refused" });
});

test("a frame of another site is a target to attach to, and not to close", async () => {
  const src = `${site.url.replace("127.0.0.1", "localhost")}/sent`;
  await page.evaluate(
    (url: string) => {
      const { document } = globalThis as unknown as { document: { body: { innerHTML: string } } };
      document.body.innerHTML = `<iframe src="${url}"></iframe>`;
    },
    { args: [src] },
  );
  const frames = async (): Promise<string[]> =>
    (await browser.targets()).filter(({ type }) => type === "iframe").map(({ targetId }) => targetId);
  await expect.poll(frames).toHaveLength(1);
  const frame = await browser.attach((await frames())[0]!);
  await expect.poll(() => frame.evaluate("document.title")).toBe("sent");
  expect(browser.pages).not.toContain(frame);
  await expect(frame.close()).rejects.toThrow("it must be a page: current value is 'iframe'");
  const gone = new Promise((resolve) => frame.once("close", resolve as () => void));
  await page.goto(`${site.url}/`);
  await gone;
});

test("commands are typed, and what the browser refuses is told with its number", async () => {
  const { product } = await browser.send("Browser.getVersion");
  expect(product).toMatch(/Chrome/);
  await expect(page.send("DOM.describeNode", { nodeId: 123_456 })).rejects.toMatchObject({
    name: "CdpError",
    code: "refused",
    protocolCode: -32000,
  });
  await expect(browser.send("Page.reload")).rejects.toMatchObject({ protocolCode: -32601 });
});

test("a command is given up by its time-out and by a signal, and the next one is answered", async () => {
  const never = "new Promise(() => {})";
  await expect(page.evaluate(never, { timeout: 200 })).rejects.toMatchObject({ code: "timeout" });
  const giveUp = new AbortController();
  const waiting = page.evaluate(never, { signal: giveUp.signal });
  giveUp.abort(new Error("enough"));
  await expect(waiting).rejects.toThrow("enough");
  await expect(page.evaluate("1", { signal: giveUp.signal })).rejects.toThrow("enough");
  assert.equal(await page.evaluate("1"), 1);
});

test("a command too large for the browser is refused here, and the connection lives", async () => {
  const expression = `"${"x".repeat(100_000_001)}"`;
  await expect(page.send("Runtime.evaluate", { expression })).rejects.toMatchObject({ code: "too-large" });
  assert.equal(await page.evaluate("'y'.repeat(5e7).length"), 5e7);
});
