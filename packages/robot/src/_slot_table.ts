/**
 * Where a slot is:
 *
 * ```text
 * free ── claim ─▶ dialing ── dial ─▶ active ◀── dial ── idle
 *  │                  │                 ├─────── drop ────▲
 *  │                  └ expire ─▶ expired └ end ─▶ terminated
 *  └ the first step ─▶ sealed      all but free and sealed ── release ─▶ spent
 * ```
 *
 * When no slot is claimed any more the batch is over, and the next one begins with all of them free.
 */
export type SlotPhase =
  "free" | "dialing" | "active" | "idle" | "terminated" | "expired" | "spent" | "sealed";

/** One copy of the simulated world. */
export interface Slot {
  readonly index: number;
  readonly phase: SlotPhase;
  /** Who has it; undefined while it is free, sealed or spent. */
  readonly token: string | undefined;
  /** Whether an agent is there. */
  readonly connected: boolean;
  /** What its agent wants to do next; the last one counts. */
  readonly action: Float32Array | undefined;
}

/** A slot that says no. The agent reads the message. */
export class SlotRefusal extends Error {}

type Mutable = { -readonly [K in keyof Slot]: Slot[K] };

/**
 * Who drives which slot, and when all have said what to do: the step barrier. It does no I/O and has no clock.
 *
 * A step needs an action of every active slot; while one is being dialled, there is none, as its world would move on before
 * its agent has seen it. Slots that nobody drives are carried along with an action that holds still.
 */
export class SlotTable {
  readonly #slots: Mutable[];
  #stepped = false;

  /** @param count How many slots there are. */
  constructor(count: number) {
    this.#slots = Array.from({ length: count }, (_, index) => blank(index));
  }

  get slots(): readonly Slot[] {
    return this.#slots;
  }

  /** Whether nobody has a slot: the next claim begins a new batch. */
  get vacant(): boolean {
    return this.#slots.every(({ token }) => token === undefined);
  }

  /** Whether the batch could still take somebody in. */
  get open(): boolean {
    return this.#slots.some(({ phase }) => phase === "free");
  }

  /** Whether the batch has been stepped. */
  get stepped(): boolean {
    return this.#stepped;
  }

  /**
   * Begins a new batch.
   *
   * @throws {Error} If somebody has a slot.
   */
  begin(): void {
    if (!this.vacant) throw new Error("Cannot begin a batch as slots are claimed");
    this.#slots.forEach((slot, index) => Object.assign(slot, blank(index)));
    this.#stepped = false;
  }

  /**
   * Takes a free slot.
   *
   * @throws {SlotRefusal} If there is none. Peers wait and try again if they read "slots are claimed".
   */
  claim(token: string): Slot {
    const slot = this.#slots.find(({ phase }) => phase === "free");
    if (!slot) throw new SlotRefusal(`all ${String(this.#slots.length)} slots are claimed`);
    return this.#move(slot, { phase: "dialing", token });
  }

  /**
   * The slot of a token; without one, the only slot that is claimed.
   *
   * @throws {SlotRefusal} If there is none.
   */
  find(token: string | null): Slot {
    if (token === null) {
      const claimed = this.#slots.filter((slot) => slot.token !== undefined);
      if (claimed.length === 1) return claimed[0]!;
      throw new SlotRefusal(
        `tokenless claim needs exactly one claimed slot, found ${String(claimed.length)}; pass the token from reset()`,
      );
    }
    const slot = this.#slots.find((candidate) => candidate.token === token);
    if (slot) return slot;
    throw new SlotRefusal(`unknown episode token: '${token.slice(0, 80)}'`);
  }

  /**
   * An agent begins to drive a slot, also again after it was gone.
   *
   * @throws {SlotRefusal} If somebody else does, or its time is over.
   */
  dial(token: string | null): Slot {
    const { index } = this.find(token);
    const slot = this.#slots[index]!;
    if (slot.connected) throw new SlotRefusal(`slot ${String(index)} already has a live connection`);
    if (slot.phase === "expired")
      throw new SlotRefusal(`slot ${String(index)} initial connection deadline expired`);
    const phase = slot.phase === "terminated" ? "terminated" : "active";
    return this.#move(slot, { phase, connected: true, action: undefined });
  }

  /**
   * The agent of a slot says what to do.
   *
   * @throws {SlotRefusal} If its episode is over, or it drives none.
   */
  act(index: number, action: Float32Array): void {
    const slot = this.#slots[index]!;
    if (slot.phase === "terminated") throw new SlotRefusal(`slot ${String(index)} has already terminated`);
    if (slot.phase !== "active") throw new SlotRefusal(`slot ${String(index)} is not being driven`);
    slot.action = action;
  }

  /** The agent of a slot is gone, or was sent away. It may come back. */
  drop(index: number): void {
    const slot = this.#slots[index]!;
    if (!slot.connected) return;
    this.#move(slot, {
      phase: slot.phase === "active" ? "idle" : slot.phase,
      connected: false,
      action: undefined,
    });
  }

  /** The agent of a slot has not come in time. */
  expire(index: number): void {
    const slot = this.#slots[index]!;
    if (slot.phase === "dialing") this.#move(slot, { phase: "expired" });
  }

  /** The episode of a slot is over. */
  end(index: number): void {
    const slot = this.#slots[index]!;
    if (slot.phase === "active" || slot.phase === "idle")
      this.#move(slot, { phase: "terminated", action: undefined });
  }

  /**
   * Gives a slot up.
   *
   * @throws {SlotRefusal} As `find`.
   */
  release(token: string | null): Slot {
    const { index } = this.find(token);
    return this.#move(this.#slots[index]!, {
      phase: "spent",
      token: undefined,
      connected: false,
      action: undefined,
    });
  }

  /** Whether everybody who takes part has said what to do, and somebody does. */
  get ready(): boolean {
    const active = this.#slots.filter(({ phase }) => phase === "active");
    if (active.length === 0 || this.#slots.some(({ phase }) => phase === "dialing")) return false;
    return active.every(({ action }) => action !== undefined);
  }

  /** Whom a step waits for. */
  get missing(): readonly Slot[] {
    return this.#slots.filter(({ phase, action }) => phase === "active" && action === undefined);
  }

  /**
   * Takes the actions out for one step; undefined stands for holding still. Slots that are free are so no more: their worlds
   * move on.
   *
   * @throws {Error} If it is not `ready`.
   */
  take(): (Float32Array | undefined)[] {
    if (!this.ready) throw new Error("Cannot step as actions are missing");
    this.#stepped = true;
    return this.#slots.map((slot) => {
      if (slot.phase === "free") slot.phase = "sealed";
      const { action } = slot;
      slot.action = undefined;
      return action;
    });
  }

  #move(slot: Mutable, change: Partial<Slot>): Slot {
    return Object.assign(slot, change);
  }
}

function blank(index: number): Mutable {
  return { index, phase: "free", token: undefined, connected: false, action: undefined };
}
