import { ErrorCode, ProtocolError } from "@envport/wire";
import type { JsonObject } from "@envport/wire";
import { randomBytes } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { readAction } from "./_action_frame.ts";
import { checkContract } from "./_check_contract.ts";
import { Conformer } from "./_conform.ts";
import { CLOSE } from "./_driver.ts";
import type { Driver } from "./_driver.ts";
import { FramePool } from "./_frame_pool.ts";
import type { PooledFrame } from "./_frame_pool.ts";
import { publicText } from "./_public_text.ts";
import { ScoreBoard } from "./_score_board.ts";
import { SlotRefusal, SlotTable } from "./_slot_table.ts";
import { Timers } from "./_timers.ts";
import { Turns } from "./_turns.ts";
import { NdArray } from "./nd_array.ts";
import { NumpyScalar } from "./numpy_scalar.ts";
import type { RobotBridge, RobotGrade } from "./robot_bridge.ts";
import type { RobotBridgeOptions } from "./robot_bridge_options.ts";
import type { RobotContract } from "./robot_contract.ts";
import { robotSpaces } from "./robot_spaces.ts";

const TIMEOUT_MS = 30_000;
/** How long the simulator has to end, in milliseconds. */
const CLOSE_MS = 2_000;
/** Frames under way beside one for each slot. */
const SPARE_FRAMES = 4;

/** What a claim gives. */
export interface ClaimedSlot {
  readonly prompt: string;
  readonly token: string;
}

/** What is known once the contract is. */
interface Prepared {
  readonly contract: RobotContract;
  readonly width: number;
  readonly conformer: Conformer;
}

/** Runs a bridge: who drives which slot, when it is stepped, and what everybody is told. It does not listen. */
export class RobotHost {
  readonly numEnvs: number;
  readonly #bridge: RobotBridge;
  readonly #options: RobotBridgeOptions;
  readonly #table: SlotTable;
  readonly #turns = new Turns();
  readonly #drivers = new Map<number, Driver>();
  readonly #timers = new Timers();
  readonly #scores: ScoreBoard;
  readonly #frames: { frame: PooledFrame; terminated: boolean }[] = [];
  readonly #pool: FramePool;
  #preparing: Promise<Prepared> | undefined;
  #prepared: Prepared | undefined;
  #batch: { args: JsonObject; prompt: string; gathered: boolean } | undefined;
  #stepping = false;
  #closed = false;

  constructor(bridge: RobotBridge, options: RobotBridgeOptions) {
    const { numEnvs = 1 } = bridge;
    if (!Number.isSafeInteger(numEnvs) || numEnvs < 1) {
      throw new RangeError(
        `Cannot serve bridge as 'numEnvs' must be 1 or more: current value is ${String(numEnvs)}`,
      );
    }
    this.numEnvs = numEnvs;
    this.#bridge = bridge;
    this.#options = options;
    this.#table = new SlotTable(numEnvs);
    this.#scores = new ScoreBoard(numEnvs);
    this.#pool = new FramePool(numEnvs + SPARE_FRAMES);
  }

  /** What an agent is told first. */
  get metadata(): PooledFrame {
    return this.#pool.encode({ ...this.#bridge.metadata, claim_required: true });
  }

  log(message: string, error?: unknown): void {
    if (this.#options.log) this.#options.log(message, error);
    else process.stderr.write(`robot: ${message}${error === undefined ? "" : `: ${publicText(error)}`}\n`);
  }

  /** The contract, checked. */
  async contract(): Promise<RobotContract> {
    return (await this.#prepare()).contract;
  }

  /** Claims a slot; the first claim of a batch resets the simulator. */
  async reset(args: JsonObject): Promise<ClaimedSlot> {
    await this.#prepare();
    return await this.#turns.run(async () => {
      if (this.#closed) throw refusal("the bridge is closed");
      const hasRoom = this.#table.slots.some(({ phase }) => phase === "free");
      if (this.#table.vacant) await this.#begin(args);
      // Where there is no room the arguments do not matter yet: the next batch may have them.
      else if (hasRoom && !isDeepStrictEqual(args, this.#batch!.args))
        throw refusal(differentArgs(this.#batch!.args, args));
      const token = (): string => randomBytes(16).toString("hex");
      const next = this.#table.slots.find(({ phase }) => phase === "free")?.index ?? 0;
      const slot = this.#refusing(() => this.#table.claim(`slot-${String(next)}-${token()}`));
      this.#awaitDials();
      return { prompt: this.#batch!.prompt, token: slot.token! };
    });
  }

  /** The grade of a slot, which is free then. */
  async result(token: string | null): Promise<RobotGrade> {
    return await this.#turns.run(async () => {
      const { index } = this.#refusing(() => this.#table.find(token));
      try {
        return this.#bridge.result ? await this.#bridge.result(index) : this.#scores.grade(index);
      } finally {
        this.#release(token);
      }
    });
  }

  /** Gives a slot up without a grade. */
  async release(token: string): Promise<void> {
    await this.#turns.run(() => {
      if (this.#table.slots.some((slot) => slot.token === token)) this.#release(token);
    });
  }

  /**
   * Lets an agent drive a slot; it gets the newest observation.
   *
   * @throws {SlotRefusal} If it must not.
   */
  dial(driver: Driver, token: string | null): void {
    const { index, phase } = this.#table.dial(token);
    this.#timers.clear(`dial ${String(index)}`);
    this.#drivers.set(index, driver);
    driver.slot = index;
    this.#tell(index);
    if (phase === "terminated") return;
    this.#awaitDials();
    this.#advance();
  }

  /** An agent says something. What is wrong with it concerns nobody else. */
  act(driver: Driver, bytes: Uint8Array): void {
    const { slot } = driver;
    if (slot === undefined || this.#drivers.get(slot) !== driver) return;
    try {
      const action = readAction(bytes, this.#prepared!.width);
      this.#bridge.checkAction?.(action, slot);
      this.#table.act(slot, action);
    } catch (error) {
      this.drop(driver);
      driver.refuse(publicText(error));
      return;
    }
    this.#timers.clear(`act ${String(slot)}`);
    this.#advance();
  }

  /** An agent is gone. */
  drop(driver: Driver): void {
    const { slot } = driver;
    if (slot === undefined || this.#drivers.get(slot) !== driver) return;
    this.#drivers.delete(slot);
    this.#timers.clear(`act ${String(slot)}`);
    this.#table.drop(slot);
    this.#advance();
  }

  /** Sends everybody away and ends the simulator. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#timers.clearAll();
    for (const driver of this.#drivers.values()) driver.end(CLOSE.goingAway);
    this.#drivers.clear();
    const ended = this.#turns.run(() => this.#bridge.close?.()).then(() => true);
    const late = new Promise<false>((resolve) => setTimeout(() => resolve(false), CLOSE_MS).unref());
    if (await Promise.race([ended, late])) return;
    // A step that does not come to an end must not keep everything else from ending.
    ended.catch(() => undefined);
    this.log(`the simulator is still busy after ${String(CLOSE_MS)} ms, and was left`);
  }

  async #prepare(): Promise<Prepared> {
    this.#preparing ??= this.#turns.run(async () => {
      const contract = await this.#bridge.contract();
      checkContract(contract);
      const { actionWidth: width, observations } = robotSpaces(contract);
      if (width === undefined) {
        throw new TypeError("Cannot serve bridge as its contract must have an action with a shape or names");
      }
      return (this.#prepared = {
        contract,
        width,
        conformer: new Conformer(observations, (text) => this.log(text)),
      });
    });
    this.#preparing.catch(() => (this.#preparing = undefined));
    return await this.#preparing;
  }

  async #begin(args: JsonObject): Promise<void> {
    this.#table.begin();
    this.#scores.clear();
    const prompt: unknown = await this.#bridge.reset(args);
    if (typeof prompt !== "string") throw refusal("the bridge's reset must return the prompt as text");
    await this.#look();
    const { gatherTimeout = 0 } = this.#options;
    const batch = { args, prompt, gathered: gatherTimeout <= 0 };
    this.#batch = batch;
    this.#timers.set("gather", gatherTimeout, () => {
      batch.gathered = true;
      this.#advance();
    });
  }

  #release(token: string | null): void {
    const { index } = this.#table.release(token);
    const driver = this.#drivers.get(index);
    this.#drivers.delete(index);
    this.#timers.clear(`act ${String(index)}`);
    this.#timers.clear(`dial ${String(index)}`);
    driver?.end(CLOSE.normal, "the episode is over");
    this.#advance();
  }

  /** Who is there waits for those who are to come, but not for ever. An agent that keeps nobody waiting may take its time. */
  #awaitDials(): void {
    const isAwaited = (): boolean => this.#table.slots.some(({ phase }) => phase === "active");
    if (!isAwaited()) return;
    for (const { index, phase } of this.#table.slots) {
      const name = `dial ${String(index)}`;
      if (phase !== "dialing" || this.#timers.has(name)) continue;
      this.#timers.set(name, this.#options.dialTimeout ?? TIMEOUT_MS, () => {
        if (!isAwaited()) return;
        this.#table.expire(index);
        this.#advance();
      });
    }
  }

  get #ready(): boolean {
    return !this.#closed && this.#table.ready && (this.#batch!.gathered || !this.#table.open);
  }

  /** Steps as long as everybody has said what to do. */
  #advance(): void {
    if (this.#stepping || !this.#ready) return;
    this.#stepping = true;
    const done = (): void => {
      this.#stepping = false;
      this.#advance();
    };
    this.#turns.run(() => this.#step()).then(done, done);
  }

  async #step(): Promise<void> {
    if (!this.#ready) return;
    const { width } = this.#prepared!;
    const actions = this.#table.take();
    const rows = new Float32Array(this.numEnvs * width);
    const hold = this.#bridge.holdAction?.() ?? new Float32Array(width);
    actions.forEach((action, index) => rows.set(action ?? hold, index * width));
    const acting = actions.map((action) => action !== undefined);
    try {
      await this.#bridge.step(new NdArray(rows, [this.numEnvs, width]), acting);
      await this.#look();
    } catch (error) {
      this.#fail(error);
      return;
    }
    acting.forEach((isActing, index) => isActing && this.#tell(index));
  }

  /** Takes in what every slot sees. */
  async #look(): Promise<void> {
    const observations = await this.#bridge.observe();
    if (observations.length !== this.numEnvs) {
      throw new RangeError(
        `Cannot send observations as there must be one for each of ${String(this.numEnvs)} slots: current value has ${String(observations.length)}`,
      );
    }
    observations.forEach((observation, index) => {
      this.#scores.add(index, observation);
      const { phase } = this.#table.slots[index]!;
      if (phase === "spent" || phase === "sealed") return;
      const data = this.#prepared!.conformer.conform(observation);
      const { terminated, reward } = observation;
      const sibling = reward === undefined ? {} : { reward: new NumpyScalar(Math.fround(reward), "<f4") };
      this.#frames[index]?.frame.release();
      this.#frames[index] = { frame: this.#pool.encode({ ...data, ...sibling, terminated }), terminated };
    });
  }

  /** Tells the agent of a slot what it sees; at the end it drops out of the barrier. */
  #tell(index: number): void {
    const { frame, terminated } = this.#frames[index]!;
    this.#drivers.get(index)?.send(frame, terminated);
    if (terminated) this.#table.end(index);
    else this.#allow(index);
  }

  /** From now on the agent thinks. */
  #allow(index: number): void {
    this.#timers.set(`act ${String(index)}`, this.#options.actionTimeout ?? Number.POSITIVE_INFINITY, () => {
      const driver = this.#drivers.get(index);
      if (!driver) return;
      this.drop(driver);
      driver.refuse("robot env: slot timed out waiting for an action", CLOSE.normal);
    });
  }

  /** The simulator failed: nobody can go on, and everybody is told. */
  #fail(error: unknown): void {
    this.log("the simulator failed", error);
    for (const [index, driver] of this.#drivers) {
      this.#table.drop(index);
      driver.refuse(`robot env: the simulator failed: ${publicText(error)}`);
    }
    this.#drivers.clear();
  }

  /** A refusal of the table, as the control channel says it. */
  #refusing<T>(work: () => T): T {
    try {
      return work();
    } catch (error) {
      throw error instanceof SlotRefusal ? refusal(error.message) : error;
    }
  }
}

function refusal(message: string): ProtocolError {
  return new ProtocolError(ErrorCode.serverError, message);
}

function differentArgs(batch: JsonObject, args: JsonObject): string {
  const text = (value: JsonObject): string => JSON.stringify(value).slice(0, 200);
  return (
    `slots share one batch reset (${text(batch)}); a concurrent claim cannot use different task kwargs (${text(args)}): ` +
    "group tasks with the same arguments, or run one simulator for each"
  );
}
