import { differs } from "./_copy_frame.ts";
import type { RfbEvent } from "./_rfb_event.ts";
import type { Session } from "./_session.ts";
import { isInside, overlaps } from "./_space.ts";
import { bounded } from "./_timing.ts";
import type { Frame } from "./frame.ts";
import type { Rect } from "./rect.ts";

interface Watch {
  readonly timeout: number;
  readonly signal?: AbortSignal | undefined;
}

/** Resolves when the screen shows something else than a frame does. */
export async function watchForChange(
  session: Session,
  since: Frame,
  { timeout, signal }: Watch,
): Promise<void> {
  const { screen } = session.core;
  const bounds = { what: "see a change", timeout, signals: [signal, session.lost] };
  await bounded<undefined>(bounds, (resolve) => {
    if (differs(screen, since)) resolve(undefined);
    return session.listen((event) => {
      if (changes(event, since) && differs(screen, since)) resolve(undefined);
    });
  });
}

/** Resolves when nothing has changed in a region for a while. */
export async function watchForSettle(
  session: Session,
  options: Watch & { quiet: number; region: Rect; ignore: readonly Rect[] },
): Promise<void> {
  const { timeout, signal, quiet, region, ignore } = options;
  const bounds = { what: "see the screen settle", timeout, signals: [signal, session.lost] };
  await bounded<undefined>(bounds, (resolve) => {
    let timer = setTimeout(resolve, quiet, undefined);
    const stop = session.listen((event) => {
      if (!changes(event, region, ignore)) return;
      clearTimeout(timer);
      timer = setTimeout(resolve, quiet, undefined);
    });
    return () => {
      clearTimeout(timer);
      stop();
    };
  });
}

function changes(event: RfbEvent, region: Rect, ignore: readonly Rect[] = []): boolean {
  if (event.type === "resize") return true;
  if (event.type !== "update") return false;
  return event.rects.some((rect) => overlaps(rect, region) && !ignore.some((part) => isInside(rect, part)));
}
