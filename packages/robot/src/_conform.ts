import { NdArray } from "./nd_array.ts";
import type { SlotObservation } from "./robot_bridge.ts";
import type { RobotFeature } from "./robot_contract.ts";

/** numpy's names of what an array may hold, by the letters of `dtype.str`. */
const NAMES: Readonly<Record<string, string>> = {
  bool: "b1",
  int8: "i1",
  int16: "i2",
  int32: "i4",
  int64: "i8",
  uint8: "u1",
  uint16: "u2",
  uint32: "u4",
  uint64: "u8",
  float16: "f2",
  float32: "f4",
  float64: "f8",
};

/** Makes what a simulator says what its contract promises. */
export class Conformer {
  readonly #features: [string, RobotFeature][];
  readonly #log: (message: string) => void;
  readonly #warned = new Set<string>();

  constructor(observations: Readonly<Record<string, RobotFeature>>, log: (message: string) => void) {
    this.#features = Object.entries(observations);
    this.#log = log;
  }

  /**
   * The arrays of an observation; floats of another size are cast, and that is told once.
   *
   * @throws {TypeError} If one is missing, or of another kind or shape than the contract says.
   */
  conform({ data }: SlotObservation): Record<string, NdArray> {
    const result: Record<string, NdArray> = {};
    for (const [name, array] of Object.entries(data)) {
      if (!(array instanceof NdArray) || array.shape.length === 0) {
        throw wrong(name, "it must be an NdArray with one dimension at least", array);
      }
      if (name === "terminated" || name === "reward" || name === "meta") {
        throw wrong(name, "it must have another name", array);
      }
      result[name] = array;
    }
    for (const [name, feature] of this.#features) {
      const array = result[name];
      if (!array) throw wrong(name, "the contract promises it", undefined);
      result[name] = this.#conform(name, array, feature);
    }
    return result;
  }

  #conform(name: string, array: NdArray, { shape, names, dtype }: RobotFeature): NdArray {
    const isSame =
      !shape || (shape.length === array.shape.length && shape.every((n, i) => n === array.shape[i]));
    if (!isSame) throw wrong(name, `the contract promises the shape [${shape.join(", ")}]`, array);
    if (!shape && names && array.shape.length === 1 && names.length !== array.data.length) {
      throw wrong(name, `the contract names ${String(names.length)} numbers`, array);
    }
    const kind = dtype === undefined ? undefined : NAMES[dtype];
    if (kind === undefined || array.dtype.slice(1) === kind) return array;
    const isFloat = (text: string): boolean => text === "f4" || text === "f8";
    if (!isFloat(kind) || !isFloat(array.dtype.slice(1)))
      throw wrong(name, `the contract promises ${dtype!}`, array);
    if (!this.#warned.has(name)) {
      this.#warned.add(name);
      this.#log(
        `the observation '${name}' is cast from ${array.dtype} to ${dtype!}, which the contract promises`,
      );
    }
    const Elements = kind === "f4" ? Float32Array : Float64Array;
    return new NdArray(Elements.from(array.data as Float32Array), array.shape);
  }
}

function wrong(name: string, rule: string, value: unknown): TypeError {
  const shown = value instanceof NdArray ? `${value.dtype} [${value.shape.join(", ")}]` : typeof value;
  return new TypeError(`Cannot send observation '${name}' as ${rule}: current value is ${shown}`);
}
