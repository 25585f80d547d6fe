/** A world that counts; without the test runner, for simulators in processes of their own. */
import type { JsonObject } from "@envport/wire";
import { NdArray } from "./nd_array.ts";
import type { RobotBridge, SlotObservation } from "./robot_bridge.ts";
import type { RobotContract } from "./robot_contract.ts";

/** A world that counts its steps; each slot sees the count and what it did last. */
export class Counting implements RobotBridge {
  readonly numEnvs: number;
  readonly width: number;
  /** At this count a slot is over. */
  end: number[];
  ticks = 0;
  readonly resets: JsonObject[] = [];
  readonly steps: { rows: number[][]; acting: boolean[] }[] = [];
  closed = 0;
  failing: Error | undefined;
  /** What a step waits for. */
  gate: Promise<void> | undefined;
  #last: Float32Array[];

  constructor({
    numEnvs = 1,
    end = 1_000,
    width = 2,
  }: { numEnvs?: number; end?: number; width?: number } = {}) {
    this.numEnvs = numEnvs;
    this.width = width;
    this.end = new Array<number>(numEnvs).fill(end);
    this.#last = this.end.map(() => new Float32Array(width));
  }

  contract(): RobotContract {
    return {
      robot_type: "counter",
      control_rate: 20,
      features: {
        count: { role: "observation", dtype: "float32", names: ["count"] },
        last: { role: "observation", shape: [this.width] },
        action: { role: "action", shape: [this.width] },
      },
    };
  }

  reset(args: JsonObject): string {
    this.ticks = 0;
    this.resets.push(args);
    if (args["broken"] !== undefined) throw new Error("no such world");
    return `count to ${String(this.end[0])}`;
  }

  async step(actions: NdArray<Float32Array>, acting: readonly boolean[]): Promise<void> {
    await this.gate;
    if (this.failing) throw this.failing;
    this.ticks++;
    this.#last = this.end.map((_, index) => actions.row(index).data.slice());
    this.steps.push({ rows: this.#last.map((row) => [...row]), acting: [...acting] });
  }

  observe(): SlotObservation[] {
    return this.end.map((end, index) => ({
      data: { count: new NdArray(Float32Array.of(this.ticks)), last: new NdArray(this.#last[index]!) },
      terminated: this.ticks >= end,
      reward: this.ticks === 0 ? undefined : 1,
      success: this.ticks >= end,
    }));
  }

  close(): void {
    this.closed++;
  }
}
