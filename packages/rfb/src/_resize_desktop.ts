import { EnvportError } from "@envport/wire";
import { setDesktopSize } from "./_client_messages.ts";
import type { RfbEvent } from "./_rfb_event.ts";
import type { Session } from "./_session.ts";

const MAX_SIDE = 16_384;
const TIMEOUT_MS = 10_000;

/** Asks for another size, and waits for the answer and the whole picture. */
export async function resizeDesktop(
  session: Session,
  width: number,
  height: number,
  signal: AbortSignal | undefined,
): Promise<void> {
  const size = `${String(width)}x${String(height)}`;
  if (![width, height].every((side) => Number.isInteger(side) && side > 0 && side <= MAX_SIDE)) {
    throw new RangeError(
      `Cannot resize screen as its sides must be 1 to 16384 pixels: current value is ${size}`,
    );
  }
  const { abilities, screens } = session.core;
  if (!abilities.extendedDesktopSize) {
    throw new EnvportError("unsupported", "Cannot resize screen as the VNC server knows no way to");
  }
  const reply = await session.until(
    { what: "resize screen", timeout: TIMEOUT_MS, signal },
    ({ type }) => type === "resize-reply",
    () => session.send(setDesktopSize(width, height, screens[0] ?? { id: 0, flags: 0 })),
  );
  const { status } = reply as RfbEvent & { type: "resize-reply" };
  if (status !== 0) {
    throw new EnvportError(
      "unsupported",
      `Cannot resize screen as the VNC server refuses: current value is ${size}`,
    );
  }
  if (!session.core.complete) await session.ready(signal);
}
