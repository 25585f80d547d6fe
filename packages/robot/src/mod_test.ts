import assert from "node:assert/strict";
import { test } from "vitest";
import * as robot from "./mod.ts";

test("the package exports these values and no others", () => {
  assert.deepEqual(Object.keys(robot).sort(), [
    ...["Float64", "NdArray", "NumpyScalar", "ROBOT_PORT", "RobotClient", "RobotEndpoint"],
    ...["decode", "encode", "gym", "robot", "robotCapability", "robotSpaces", "serveBridge"],
  ]);
});
