import { NdArray } from "@envport/robot";
import type { RobotBridge, RobotContract, RobotGrade, SlotObservation } from "@envport/robot";
import type { MjModel } from "@mujoco/mujoco";
import { ARM_MODEL, CAMERAS, GEOMETRY, JOINTS } from "./arm_model.ts";
import { ArmWorld, CONTROL_RATE, HOLD_STEPS, MAX_STEPS, MAX_TURN, NEAR } from "./arm_world.ts";
import { CameraRenderer } from "./camera_renderer.ts";
import { loadMujoco } from "./mujoco.ts";

/** Width and height of what a camera sees, in pixels. */
export const PICTURE_SIZE = 224;

const PROMPT =
  `Move the arm's tip to the green ball and hold it there: nearer than ${String(100 * NEAR)} cm to its centre for ` +
  `${String(HOLD_STEPS)} steps in a row. There are ${String(MAX_STEPS)} steps, ${String(CONTROL_RATE)} in a second; an action is ` +
  `how far each joint turns, at most ${String(MAX_TURN)} rad.`;

const CONTRACT: RobotContract = {
  robot_type: "arm-3",
  control_rate: CONTROL_RATE,
  geometry: GEOMETRY,
  features: {
    ...Object.fromEntries(CAMERAS.map((camera) => [imageOf(camera), picture()])),
    "observation/state": {
      role: "observation",
      dtype: "float32",
      shape: [12],
      names: [
        ...JOINTS.map((joint) => `${joint}_angle`),
        ...JOINTS.map((joint) => `${joint}_speed`),
        ...["tip", "ball"].flatMap((body) => ["x", "y", "z"].map((axis) => `${body}_${axis}`)),
      ],
    },
    action: {
      role: "action",
      dtype: "float32",
      shape: [JOINTS.length],
      names: [...JOINTS],
      limits: { low: -MAX_TURN, high: MAX_TURN },
    },
  },
};

/** What is simulated, once it is loaded. */
interface Simulation {
  readonly model: MjModel;
  readonly worlds: readonly ArmWorld[];
  readonly renderer: CameraRenderer;
}

/** One arm or several, each in a world of its own, that are stepped together. */
export class ArmBridge implements RobotBridge {
  readonly numEnvs: number;
  #simulation: Simulation | undefined;
  #rewards: number[] = [];
  #totals: number[] = [];

  /** @param arms How many there are. */
  constructor(arms = 1) {
    this.numEnvs = arms;
  }

  contract(): RobotContract {
    return CONTRACT;
  }

  /** The first one loads the simulator. Worlds begin with different seeds: the one that is given, and those that follow it. */
  async reset({ seed }: { readonly seed?: unknown }): Promise<string> {
    this.#simulation ??= await this.#load();
    this.#simulation.worlds.forEach((world, index) => world.reset(Number(seed) + index));
    this.#rewards = Array.from({ length: this.numEnvs }, () => 0);
    this.#totals = [...this.#rewards];
    return PROMPT;
  }

  step(actions: NdArray<Float32Array>): void {
    this.#worlds.forEach((world, index) => {
      const isOver = world.over;
      world.step(actions.row(index).data);
      this.#rewards[index] = isOver ? 0 : -world.distance;
      this.#totals[index]! += this.#rewards[index];
    });
  }

  observe(): readonly SlotObservation[] {
    return this.#worlds.map((world, index) => ({
      data: {
        ...Object.fromEntries(CAMERAS.map((camera, number) => [imageOf(camera), this.#look(world, number)])),
        "observation/state": new NdArray(world.state),
      },
      reward: world.steps === 0 ? undefined : this.#rewards[index],
      terminated: world.over,
      success: world.reached,
    }));
  }

  /** What counts is where the simulator says that the tip was. */
  result(slot: number): RobotGrade {
    const { reached, distance, steps } = this.#worlds[slot]!;
    return {
      score: reached ? 1 : 0,
      success: reached,
      total_reward: this.#totals[slot]!,
      info: { distance, steps },
    };
  }

  close(): void {
    for (const world of this.#simulation?.worlds ?? []) world.delete();
    this.#simulation?.model.delete();
    this.#simulation = undefined;
  }

  get #worlds(): readonly ArmWorld[] {
    return this.#simulation!.worlds;
  }

  #look({ data }: ArmWorld, camera: number): NdArray {
    const { renderer } = this.#simulation!;
    return new NdArray(renderer.render(data, camera), [PICTURE_SIZE, PICTURE_SIZE, 3]);
  }

  async #load(): Promise<Simulation> {
    const mujoco = await loadMujoco();
    const model = mujoco.MjModel.from_xml_string(ARM_MODEL);
    const worlds = Array.from({ length: this.numEnvs }, () => new ArmWorld(mujoco, model));
    return { model, worlds, renderer: new CameraRenderer(model, PICTURE_SIZE) };
  }
}

function imageOf(camera: string): string {
  return `observation/${camera}_image`;
}

function picture(): RobotContract["features"][string] {
  const shape = [PICTURE_SIZE, PICTURE_SIZE, 3];
  return { role: "observation", type: "rgb", dtype: "uint8", shape, names: ["height", "width", "channel"] };
}
