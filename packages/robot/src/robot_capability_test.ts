import assert from "node:assert/strict";
import { test } from "vitest";
import { robotCapability } from "./robot_capability.ts";
import type { RobotContract } from "./robot_contract.ts";

const contract: RobotContract = {
  robot_type: "franka",
  control_rate: 20,
  features: {
    "observation/image": { role: "observation", type: "rgb", dtype: "image", shape: [224, 224, 3] },
    "observation/state": {
      role: "observation",
      names: ["x", "y"],
      stats: { mean: [0, 0], std: [1, 1], q99: [2, 2] },
      frame: "base",
    },
    action: { role: "action", shape: [7], kp: [1, 2] },
  },
  vendor: { anything: true },
};

test("robotCapability() is the binding that clients look for, its contract verbatim", () => {
  assert.deepEqual(robotCapability({ url: "127.0.0.1:4000", contract }), {
    name: "robot",
    protocol: "openpi/0",
    url: "ws://127.0.0.1:4000",
    params: { contract },
  });
  assert.equal(robotCapability({ name: "arm", url: "ws://[::1]/sim", contract }).url, "ws://[::1]:9091/sim");
  assert.equal(robotCapability({ url: "host", contract }).url, "ws://host:9091");
});

test("robotCapability() refuses a contract that breaks a rule, and names the feature", () => {
  const refuses = (change: unknown, message: RegExp): void => {
    const make = (): unknown => robotCapability({ url: "h", contract: change as RobotContract });
    assert.throws(make, (error) => error instanceof TypeError && message.test(error.message));
  };
  const feature = (value: unknown): unknown => ({ features: { f: value } });
  refuses(undefined, /contract as it must be an object: current value is undefined/);
  refuses({}, /'features' must be an object/);
  refuses(
    { features: {}, control_rate: 0 },
    /'control_rate' must be a number of hertz above 0: current value is 0/,
  );
  refuses({ features: {}, robot_type: 1 }, /'robot_type' must be text/);
  refuses(feature({ role: "state" }), /feature 'f' of contract as its role must be .*"state"/);
  refuses(feature({ role: "action", shape: [] }), /its shape must be at least one count above 0/);
  refuses(feature({ role: "action", shape: [1.5] }), /its shape/);
  refuses(
    feature({ role: "observation", type: "rgb", shape: [3, 224, 224] }),
    /height, width and 1, 3 or 4 channels/,
  );
  refuses(feature({ role: "action", names: "x" }), /its names must be a list of texts/);
  refuses(
    feature({ role: "action", stats: { mean: [Number.NaN] } }),
    /its stats.mean must be a list of numbers/,
  );
  refuses({ features: { reward: { role: "observation" } } }, /must not be called terminated, reward or meta/);
});
