import type { MainModule, MjData, MjModel } from "@mujoco/mujoco";
import { seededRandom } from "../seeded_random.ts";
import { GEOMETRY, JOINT_RANGES } from "./arm_model.ts";

/** Actions each second. */
export const CONTROL_RATE = 20;
/** How far a joint's target moves in one step at most, in radians. */
export const MAX_TURN = 0.08;
/** How near the tip has to come to the ball, in metres. */
export const NEAR = 0.02;
/** So many steps it has to stay there. */
export const HOLD_STEPS = 5;
/** After so many steps the episode is over. */
export const MAX_STEPS = 100;

/** One arm and one ball. An episode is over when the tip has stayed at the ball, or when its time is up. */
export class ArmWorld {
  readonly data: MjData;
  readonly #mujoco: MainModule;
  readonly #model: MjModel;
  readonly #substeps: number;
  #steps = 0;
  #near = 0;

  /**
   * @param mujoco Where the simulation runs.
   * @param model The arm; worlds may share it.
   */
  constructor(mujoco: MainModule, model: MjModel) {
    this.#mujoco = mujoco;
    this.#model = model;
    this.#substeps = Math.round(1 / CONTROL_RATE / model.opt.timestep);
    this.data = new mujoco.MjData(model);
    this.reset(0);
  }

  /** Actions that were taken. */
  get steps(): number {
    return this.#steps;
  }

  /** Whether the tip has stayed at the ball. */
  get reached(): boolean {
    return this.#near >= HOLD_STEPS;
  }

  /** Whether the episode is over, for whatever reason. */
  get over(): boolean {
    return this.reached || this.#steps >= MAX_STEPS;
  }

  /** From the tip to the centre of the ball, in metres. */
  get distance(): number {
    const [tip, ball] = [this.#tip, this.#ball];
    return Math.hypot(tip[0]! - ball[0]!, tip[1]! - ball[1]!, tip[2]! - ball[2]!);
  }

  /** Angles and speeds of the joints, the tip, and the ball: radians and metres. */
  get state(): Float32Array {
    const { qpos, qvel } = this.data as Record<"qpos" | "qvel", Float64Array>;
    return Float32Array.of(...qpos, ...qvel, ...this.#tip, ...this.#ball);
  }

  /**
   * Begins an episode: the same arm and ball for the same seed.
   *
   * @param seed Any integer.
   */
  reset(seed: number): void {
    const random = seededRandom(seed);
    const between = (low: number, high: number): number => low + (high - low) * random();
    this.#mujoco.mj_resetData(this.#model, this.data);
    const start = [between(-0.5, 0.5), between(0.1, 0.4), between(1.1, 1.5)];
    for (const name of ["qpos", "ctrl"] as const) (this.data[name] as Float64Array).set(start);
    do {
      // Within reach, above the floor, in front of the arm or beside it, and not where the tip is already.
      const [angle, radius, height] = [between(-1.3, 1.3), between(0.16, 0.36), between(0.06, 0.38)];
      this.#ball.set([radius * Math.cos(angle), radius * Math.sin(angle), height]);
      this.#mujoco.mj_forward(this.#model, this.data);
    } while (!this.#isReachable || this.distance < 0.15);
    this.#steps = 0;
    this.#near = 0;
  }

  /**
   * Goes on by one action. After the end nothing moves.
   *
   * @param turns By how much the target of each joint moves, in radians; what is more than {@linkcode MAX_TURN} is cut off.
   */
  step(turns: ArrayLike<number>): void {
    if (this.over) return;
    const targets = this.data.ctrl as Float64Array;
    JOINT_RANGES.forEach(([low, high], index) => {
      targets[index] = clamp(targets[index]! + clamp(turns[index]!, -MAX_TURN, MAX_TURN), low, high);
    });
    for (let count = 0; count < this.#substeps; count++) this.#mujoco.mj_step(this.#model, this.data);
    this.#steps++;
    this.#near = this.distance < NEAR ? this.#near + 1 : 0;
  }

  /** Gives the memory back. */
  delete(): void {
    this.data.delete();
  }

  // The simulator's memory may move when it grows, so views on it are not kept.
  get #tip(): Float64Array {
    return this.data.site_xpos as Float64Array;
  }

  get #ball(): Float64Array {
    return this.data.mocap_pos as Float64Array;
  }

  get #isReachable(): boolean {
    const [x, y, z] = this.#ball;
    const reach = Math.hypot(x!, y!, z! - GEOMETRY.shoulder_height);
    return reach > 0.2 && reach < GEOMETRY.upper_arm + GEOMETRY.forearm - 0.03;
  }
}

function clamp(value: number, low: number, high: number): number {
  return Math.min(Math.max(value, low), high);
}
