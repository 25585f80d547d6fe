import type { Client } from "@envport/client";
import { rfb } from "@envport/rfb";
import type { RfbClient } from "@envport/rfb";
import type { Journal } from "../journal.ts";

/** How long the window may take to come up, in milliseconds. */
const WINDOW_MS = 15_000;
const PROMPT_REGEXP = /add the line "(.+)" at its end/;

/**
 * An agent without a model: it waits for the window, puts the cursor into the text, and edits it by keys. It knows of the
 * program only what is on the screen.
 *
 * @param client A connection whose session has started the task.
 * @param prompt Says what to add.
 * @param journal Told what is done; gets pictures of the screen.
 * @returns The answer: that it was done.
 * @throws {Error} If no window comes up.
 */
export async function solveDesktop(client: Client, prompt: string, journal: Journal): Promise<string> {
  const [, line] = PROMPT_REGEXP.exec(prompt) ?? [];
  if (!line) throw new Error("the prompt says something else than expected");
  const desktop = await client.open(rfb);
  const act = (what: string, run: () => Promise<unknown>): Promise<unknown> =>
    journal.step(what, run, () => "");
  await act("wait for the window", () => untilWindow(desktop));
  await look(desktop, journal, "The editor");
  const { width, height } = desktop.size;
  await act("click into the text", () => desktop.click(Math.round(width / 3), Math.round(height / 3)));
  for (const keys of ["ctrl+Home", "Down", "shift+End", "Delete", "Delete"]) {
    await act(`press ${keys}`, () => desktop.press(keys));
  }
  await settle(desktop);
  await look(desktop, journal, "Without its second line");
  await act("press ctrl+End", () => desktop.press("ctrl+End"));
  await act(`type ${line}`, () => desktop.type(`${line}\n`));
  await settle(desktop);
  await look(desktop, journal, "With the new line");
  await act("press ctrl+s", () => desktop.press("ctrl+s"));
  await settle(desktop);
  await look(desktop, journal, "Saved");
  return "done";
}

/** Waits until a window covers the middle of the screen: a text is white there, the empty screen is not. */
async function untilWindow(desktop: RfbClient): Promise<void> {
  const deadline = performance.now() + WINDOW_MS;
  while (performance.now() < deadline) {
    await desktop.waitForSettle({ quiet: 300 }).catch(() => undefined); // a cursor may blink
    const { width, height, data } = await desktop.frame();
    const middle = 4 * (Math.floor(height / 3) * width + Math.floor(width / 3));
    if (data.subarray(middle, middle + 3).every((value) => value > 240)) return;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  throw new Error("no window came up");
}

async function settle(desktop: RfbClient): Promise<void> {
  await desktop.barrier();
  await desktop.waitForSettle({ quiet: 300, timeout: 3_000 }).catch(() => undefined); // a cursor may blink
}

async function look(desktop: RfbClient, journal: Journal, caption: string): Promise<void> {
  const { data } = await desktop.screenshot({ format: "png" });
  journal.picture(caption, data);
}
