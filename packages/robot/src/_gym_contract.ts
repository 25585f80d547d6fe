import { actionShape, actionSize } from "./_gym_action.ts";
import type { ActionSpace } from "./gym_env.ts";
import type { NdArray } from "./nd_array.ts";
import type { RobotContract, RobotFeature } from "./robot_contract.ts";

/** Where nothing says how fast it is. */
const DEFAULT_RATE = 10;

/** numpy's names by the letters of `dtype.str`. */
const NAMES: Readonly<Record<string, string>> = {
  b1: "bool",
  i1: "int8",
  i2: "int16",
  i4: "int32",
  i8: "int64",
  u1: "uint8",
  u2: "uint16",
  u4: "uint32",
  u8: "uint64",
  f2: "float16",
  f4: "float32",
  f8: "float64",
};

/** Makes a contract of what one world has shown: images are `rgb` or `gray`, vectors have names with numbers. */
export function deriveContract(
  sample: Readonly<Record<string, NdArray>>,
  space: ActionSpace,
  rate: number | undefined,
): RobotContract {
  const features: Record<string, RobotFeature> = {};
  for (const [name, array] of Object.entries(sample)) features[name] = describe(name, array);
  const size = actionSize(space);
  const shape = actionShape(space);
  features["action"] = {
    role: "action",
    dtype: space.type === "box" ? (space.dtype ?? "float32") : "int32",
    shape: shape.length === 0 ? [1] : [...shape],
    names: numbered("act", size),
    ...limitsOf(space),
  };
  return { control_rate: rate ?? DEFAULT_RATE, features };
}

function describe(name: string, array: NdArray): RobotFeature {
  const base = { role: "observation" as const, dtype: NAMES[array.dtype.slice(1)]!, shape: [...array.shape] };
  const [first, , last] = array.shape;
  if (array.dtype === "|u1" && array.shape.length === 3) {
    if (last === 1 || last === 3 || last === 4) return { ...base, type: last === 1 ? "gray" : "rgb" };
    if (first === 1 || first === 3 || first === 4) {
      throw new TypeError(
        `Cannot describe observation '${name}' as an image must be height, width, channels (transpose it, or give a contract): current value is [${array.shape.join(", ")}]`,
      );
    }
  }
  if (array.shape.length > 1) return base;
  const leaf = name.split("/").at(-1)!;
  return { ...base, names: numbered(leaf, array.data.length) };
}

function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}_${String(index)}`);
}

function limitsOf(space: ActionSpace): { limits?: unknown } {
  if (space.type === "discrete") return { limits: { n: space.n, start: space.start ?? 0 } };
  if (space.type === "multi-discrete") return { limits: { nvec: [...space.nvec] } };
  const { low, high } = space;
  const isFinite = [low, high].flat().every((value) => Number.isFinite(value));
  return isFinite ? { limits: { low, high } } : {};
}
