import { keyEvent, pointerEvent, qemuKeyEvent } from "./_client_messages.ts";
import { MODIFIERS, withoutShift } from "./_keysyms.ts";
import { QEMU_KEYCODES } from "./_qemu_keycodes.ts";
import type { Session } from "./_session.ts";
import { bounded } from "./_timing.ts";

/** Keys and buttons of one session: what is down, so that it comes up again. */
export class InputState {
  readonly #session: Session;
  readonly #keys = new Set<number>();
  readonly #pointer: { x: number; y: number };
  #buttons = 0;

  /** @param pointer Where the pointer is; a server that tells moves it too. */
  constructor(session: Session, pointer: { x: number; y: number }) {
    this.#session = session;
    this.#pointer = pointer;
  }

  get x(): number {
    return this.#pointer.x;
  }

  get y(): number {
    return this.#pointer.y;
  }

  /** Lifts the modifiers that a lost connection may have left down. */
  liftModifiers(): void {
    for (const keysym of MODIFIERS) this.#sendKey(keysym, false);
  }

  key(keysym: number, down: boolean): void {
    if (down) this.#keys.add(keysym);
    else this.#keys.delete(keysym);
    this.#sendKey(keysym, down);
  }

  /** Moves the pointer, buttons as they are. */
  move(x: number, y: number): void {
    [this.#pointer.x, this.#pointer.y] = [x, y];
    this.#sendPointer();
  }

  /** Presses or lifts buttons: bit 0 is the left one. */
  button(mask: number, down: boolean): void {
    this.#buttons = down ? this.#buttons | mask : this.#buttons & ~mask;
    this.#sendPointer();
  }

  /** Lifts everything. */
  release(): void {
    for (const keysym of [...this.#keys].reverse()) this.key(keysym, false);
    if (this.#buttons !== 0) this.button(this.#buttons, false);
  }

  #sendPointer(): void {
    this.#session.send(pointerEvent(this.x, this.y, this.#buttons));
  }

  /** QEMU makes of keysyms what its own layout has; it gets the key itself where there is one. */
  #sendKey(keysym: number, down: boolean): void {
    const session = this.#session;
    const direct = session.kind === "qemu" && session.core.abilities.qemuKey;
    const keycode = direct ? QEMU_KEYCODES.get(keyOf(keysym)) : undefined;
    session.send(keycode === undefined ? keyEvent(keysym, down) : qemuKeyEvent(keysym, keycode, down));
  }
}

/** The keysym of what the same key writes without Shift. */
function keyOf(keysym: number): number {
  if (keysym < 0x21 || keysym > 0x7e) return keysym;
  return (withoutShift(String.fromCharCode(keysym)) ?? String.fromCharCode(keysym)).charCodeAt(0);
}

/** One after the other: what one piece of input does is over before the next begins, also when it fails. */
export class InputQueue {
  #tail: Promise<unknown> = Promise.resolve();

  /**
   * Does it when its turn comes.
   *
   * @param signal Gives up waiting at once; what has begun then ends by itself.
   */
  async run<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    const result = this.#tail.then(async () => {
      signal?.throwIfAborted();
      return await work();
    });
    this.#tail = result.catch(() => undefined);
    return await bounded<T>({ what: "wait", timeout: Infinity, signals: [signal] }, (resolve, reject) => {
      result.then(resolve, reject);
      return () => undefined;
    });
  }
}
