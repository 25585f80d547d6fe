import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";
import { loadMujoco } from "./mujoco.ts";

test("it is loaded once, says what is wrong with a model, and goes on", async () => {
  const mujoco = await loadMujoco();
  expect(await loadMujoco()).toBe(mujoco);
  expect(() => mujoco.MjModel.from_xml_string("<mujoco><arm/></mujoco>")).toThrow(/unrecognized element/);
  mujoco.MjModel.from_xml_string("<mujoco/>").delete();
});

test("a process that simulates prints nothing on standard output, leaves no handlers, and ends by itself", () => {
  const program = `
    const { NdArray } = await import("@envport/robot");
    const { ArmBridge } = await import("./src/arm/arm_bridge.ts");
    const { loadMujoco } = await import("./src/arm/mujoco.ts");
    const events = ["uncaughtException", "unhandledRejection", "SIGINT", "SIGTERM"];
    const before = events.map((event) => process.listenerCount(event));
    const bridge = new ArmBridge();
    await bridge.reset({ seed: 1 });
    bridge.step(new NdArray(new Float32Array(3), [1, 3]));
    const mujoco = await loadMujoco();
    // MuJoCo prints where it is asked to, or has something to warn of.
    mujoco.mju_printMat([1, 2], 1, 2);
    bridge.close();
    if (events.some((event, index) => process.listenerCount(event) !== before[index])) process.exitCode = 7;
  `;
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    ["--import", "tsx", "--conditions=@envport/source", "--input-type=module", "-e", program],
    { cwd: new URL("../..", import.meta.url), encoding: "utf8" },
  );
  expect(stderr).toMatch(/^mujoco: .*1.*2/m);
  expect({ stdout, status }).toEqual({ stdout: "", status: 0 });
}, 60_000);
