import { MODIFIERS, keyNamed } from "./_keys.ts";
import type { Key } from "./_keys.ts";
import { locate } from "./_locate.ts";
import type { CdpSendOptions } from "./cdp_messages.ts";
import type { CdpPage } from "./cdp_page.ts";
import type { ClickOptions, LocateOptions, Point, ScrollOptions, TypeOptions } from "./cdp_page_options.ts";

/** See `CdpPage.click`. */
export async function click(page: CdpPage, target: string | Point, options: ClickOptions): Promise<void> {
  const { button = "left", count = 1, modifiers: held = [], findTimeout, ...rest } = options;
  const { x, y } = await pointOf(page, target, { findTimeout, ...rest });
  const modifiers = held.reduce((bits, name) => bits | MODIFIERS[name], 0);
  const event = { x, y, button, modifiers };
  const moved = page.send("Input.dispatchMouseEvent", { x, y, modifiers, type: "mouseMoved" }, rest);
  const events = Array.from({ length: count }, (_, i) => i + 1).flatMap((clickCount) => [
    page.send("Input.dispatchMouseEvent", { ...event, type: "mousePressed", clickCount }, rest),
    page.send("Input.dispatchMouseEvent", { ...event, type: "mouseReleased", clickCount }, rest),
  ]);
  await unlessDialog(page, [moved, ...events]);
}

/** See `CdpPage.type`. */
export async function type(page: CdpPage, text: string, options: TypeOptions): Promise<void> {
  const { into, replace = false, findTimeout, ...rest } = options;
  if (into !== undefined) await click(page, into, { findTimeout, ...rest });
  const sent: Promise<unknown>[] = [];
  if (replace) sent.push(...keyEvents(page, keyNamed("a")!, MODIFIERS.Control, rest, ["selectAll"]));
  if (replace && text === "") sent.push(...keyEvents(page, keyNamed("Delete")!, 0, rest));
  for (const character of text.replaceAll("\r\n", "\n")) {
    const key = keyNamed(character === "\n" ? "Enter" : character === "\t" ? "Tab" : character);
    if (key) sent.push(...keyEvents(page, key, isShifted(key) ? MODIFIERS.Shift : 0, rest));
    else sent.push(page.send("Input.insertText", { text: character }, rest));
  }
  await unlessDialog(page, sent);
}

/** See `CdpPage.press`. */
export async function press(page: CdpPage, keys: string, options: CdpSendOptions): Promise<void> {
  // A plus sign at the end is the key itself.
  const names = keys.split(/\+(?!$)/);
  const pressed = names.map((name) => {
    const key = keyNamed(name);
    if (key) return key;
    throw new TypeError(
      `Cannot press a key as there is none of that name: current value is ${JSON.stringify(name)}`,
    );
  });
  const last = pressed.pop()!;
  let bits = 0;
  const sent: Promise<unknown>[] = [];
  for (const key of pressed) {
    bits |= bitOf(key);
    sent.push(
      page.send("Input.dispatchKeyEvent", { ...describe(key), type: "rawKeyDown", modifiers: bits }, options),
    );
  }
  const selectsAll = last.code === "KeyA" && [MODIFIERS.Control, MODIFIERS.Meta].some((bit) => bit === bits);
  sent.push(...keyEvents(page, last, bits, options, selectsAll ? ["selectAll"] : undefined));
  for (const key of pressed.reverse()) {
    bits &= ~bitOf(key);
    sent.push(
      page.send("Input.dispatchKeyEvent", { ...describe(key), type: "keyUp", modifiers: bits }, options),
    );
  }
  await unlessDialog(page, sent);
}

/** See `CdpPage.scroll`. */
export async function scroll(page: CdpPage, deltaY: number, options: ScrollOptions): Promise<void> {
  const { at, deltaX = 0, findTimeout, ...rest } = options;
  const { x, y } =
    at === undefined ? await middle(page, rest) : await pointOf(page, at, { findTimeout, ...rest });
  const event = { type: "mouseWheel", x, y, deltaX, deltaY } as const;
  await unlessDialog(page, [page.send("Input.dispatchMouseEvent", event, rest)]);
}

async function pointOf(page: CdpPage, target: string | Point, options: LocateOptions): Promise<Point> {
  return typeof target === "string" ? await locate(page, target, options) : target;
}

async function middle(page: CdpPage, options: CdpSendOptions): Promise<Point> {
  const { cssLayoutViewport } = await page.send("Page.getLayoutMetrics", undefined, options);
  return { x: cssLayoutViewport.clientWidth / 2, y: cssLayoutViewport.clientHeight / 2 };
}

/** Down and up. With Control, Alt or Meta a key types nothing. */
function keyEvents(
  page: CdpPage,
  key: Key,
  modifiers: number,
  options: CdpSendOptions,
  commands?: string[],
): Promise<unknown>[] {
  const text = (modifiers & ~MODIFIERS.Shift) === 0 ? key.text : undefined;
  const event = { ...describe(key), modifiers };
  const down = {
    ...event,
    type: text === undefined ? "rawKeyDown" : "keyDown",
    ...(text === undefined ? {} : { text, unmodifiedText: text }),
    ...(commands ? { commands } : {}),
  } as const;
  return [
    page.send("Input.dispatchKeyEvent", down, options),
    page.send("Input.dispatchKeyEvent", { ...event, type: "keyUp" }, options),
  ];
}

function describe({ key, code, keyCode, location = 0 }: Key): {
  key: string;
  code: string;
  windowsVirtualKeyCode: number;
  location: number;
} {
  return { key, code, windowsVirtualKeyCode: keyCode, location };
}

function isShifted({ text = "" }: Key): boolean {
  return /^[A-Z~_+{}|:"<>?)!@#$%^&*(]$/.test(text);
}

function bitOf({ key }: Key): number {
  return Object.hasOwn(MODIFIERS, key) ? MODIFIERS[key as keyof typeof MODIFIERS] : 0;
}

/** Waits for the answers, but not while a dialog is open: it is what the input has brought about. */
async function unlessDialog(page: CdpPage, answers: Promise<unknown>[]): Promise<void> {
  let opened!: () => void;
  const dialog = new Promise<void>((resolve) => {
    opened = resolve;
    page.once("Page.javascriptDialogOpening", opened);
  });
  const all = Promise.all(answers);
  all.catch(() => undefined);
  for (const answer of answers) answer.catch(() => undefined);
  try {
    await Promise.race([all, dialog]);
  } finally {
    page.off("Page.javascriptDialogOpening", opened);
  }
}
