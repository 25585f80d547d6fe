import { EnvportError } from "@envport/wire";
import type { InputState } from "./_input_queue.ts";
import { keysymOf, parseChord, SHIFT, withoutShift } from "./_keysyms.ts";
import type { LiveSession } from "./_link.ts";
import { delay } from "./_timing.ts";
import { watchForSettle } from "./_watch.ts";
import type { PressOptions } from "./rfb_client_options.ts";

/** Between two pauses for the server to catch up. */
const BURST = 200;
/** What a program may take to fetch and show what it pastes. */
const PASTE_QUIET_MS = 200;
const PASTE_MS = 2_000;
/** What Latin-1 and below comes to: no server needs a spare key for it. */
const LATIN1 = 0x100;

/** Does something with keys held, and lifts them whatever happens. */
export async function holding<T>(
  input: InputState,
  keys: string | readonly number[] | undefined,
  work: () => Promise<T>,
): Promise<T> {
  const keysyms = typeof keys === "string" ? (keys === "" ? [] : parseChord(keys)) : (keys ?? []);
  try {
    for (const keysym of keysyms) input.key(keysym, true);
    return await work();
  } finally {
    for (const keysym of [...keysyms].reverse()) input.key(keysym, false);
  }
}

/** Presses a chord, once or more often. */
export async function pressChord(
  live: LiveSession,
  keysyms: readonly number[],
  options: PressOptions,
): Promise<void> {
  const { holdTime = 10, count = 1, signal } = options;
  for (let i = 0; i < count; i++) {
    await holding(live.input, keysyms, () => delay(holdTime, signal, live.session.lost));
    if (i + 1 < count) await delay(holdTime, signal, live.session.lost);
  }
  live.session.lost.throwIfAborted();
}

/** Text as strokes: a line end of two characters is one key. */
export function charactersOf(text: string): string[] {
  const characters = Array.from(text.replaceAll("\r\n", "\n"));
  for (const character of characters) keysymOf(character);
  return characters;
}

/** The characters that a server has to make a key for. */
export function unusual(characters: readonly string[]): Set<string> {
  return new Set(characters.filter((character) => character.codePointAt(0)! >= LATIN1));
}

/**
 * Types characters, with Shift held where a US keyboard needs it: servers that look at their own layout first lose it
 * otherwise.
 */
export async function typeCharacters(
  { session, input }: LiveSession,
  characters: readonly string[],
  signal: AbortSignal | undefined,
): Promise<void> {
  for (const [i, character] of characters.entries()) {
    signal?.throwIfAborted();
    const keysym = keysymOf(character);
    const shift = withoutShift(character) !== undefined;
    await holding(input, shift ? [SHIFT, keysym] : [keysym], () => Promise.resolve());
    if (i % BURST === BURST - 1) await session.barrier({ signal });
  }
  await session.barrier({ signal });
}

/** Puts text on the clipboard and pastes it: whoever pastes fetches it later, so it is waited until nothing changes. */
export async function pasteText(
  live: LiveSession,
  text: string,
  chord: readonly number[],
  signal: AbortSignal | undefined,
): Promise<void> {
  const { session } = live;
  session.core.offerClipboard(text, clipboardBytes(live, text));
  await session.barrier({ signal });
  const { width, height } = session.core.screen;
  const region = { x: 0, y: 0, width, height };
  const bounds = { region, quiet: PASTE_QUIET_MS, timeout: PASTE_MS, ignore: [], signal };
  const settled = watchForSettle(session, bounds).catch((error: unknown) => {
    // Something else on the screen moves all the time.
    if (!(error instanceof EnvportError && error.code === "timeout")) throw error;
  });
  await Promise.all([pressChord(live, chord, { signal }), settled]);
  await session.barrier({ signal });
}

/**
 * How text goes to the server's clipboard: undefined by the extended clipboard, else the bytes of a plain message.
 *
 * @throws {EnvportError} `unsupported` If the server cannot take it whole.
 */
export function clipboardBytes({ session }: LiveSession, text: string): Buffer | undefined {
  const { extendedClipboard, clipboardBytes: limit } = session.core.abilities;
  if (session.kind === "x11vnc") return Buffer.from(text, "utf8");
  if (extendedClipboard === 0) {
    const odd = /[^\u0000-\u00ff]/u.exec(text);
    if (!odd) return Buffer.from(text, "latin1");
    throw new EnvportError(
      "unsupported",
      `Cannot copy text as the VNC server takes Latin-1 only: current value has '${odd[0]}'`,
    );
  }
  const size = Buffer.byteLength(text) + 1;
  if (limit > 0 && size > limit) {
    throw new EnvportError(
      "unsupported",
      `Cannot copy text as the VNC server takes at most ${String(limit)} bytes: current value has ${String(size)}`,
    );
  }
  return undefined;
}
