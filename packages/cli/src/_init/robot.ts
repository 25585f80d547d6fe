import type { Template } from "./template.ts";

/** A simulated joint. */
export const robot: Template = {
  name: "robot",
  summary: "a simulator: observations and actions",
  needs: [],
  packages: ["robot"],
  environment: {
    imports: [
      `import { NdArray, RobotEndpoint } from "@envport/robot";`,
      `import type { RobotBridge } from "@envport/robot";`,
    ],
    code: `// The agent turns this joint: it sees the angle, and says how far to turn. A simulator of yours goes here.
let [angle, target] = [0, 0];
const joint: RobotBridge = {
  contract: () => ({
    robot_type: "joint",
    control_rate: 20,
    features: {
      state: { role: "observation", dtype: "float32", shape: [2], names: ["angle", "target"] },
      action: { role: "action", shape: [1], names: ["turn"] },
    },
  }),
  reset(args) {
    [angle, target] = [0, Number(args["target"])];
    return "Turn the joint to its target."; // the prompt
  },
  step(actions) {
    angle += Math.max(-0.2, Math.min(actions.data[0]!, 0.2));
  },
  observe() {
    const success = Math.abs(angle - target) < 0.01;
    const state = new NdArray(Float32Array.of(angle, target));
    return [{ data: { state }, terminated: success, success }];
  },
};
const simulator = env.use(new RobotEndpoint(joint));
env.onTaskEnd((session) => simulator.release(session));

env.template("turn", { description: "Turn a joint" }).run(async function* (_args, { sessionId, signal }) {
  const { frame, token } = await simulator.reset({ target: 1 }, { session: sessionId, signal });
  yield frame; // the prompt, and where the agent finds its robot
  yield await simulator.result(token); // the score: 1 for success
});`,
  },
  agent: {
    task: "turn",
    imports: [`import { robot } from "@envport/robot";`],
    code: `      const joint = await client.open(robot);
      await joint.run(({ data }) => {
        const [angle, target] = [...data["state"]!.data].map(Number);
        return [target! - angle!];
      });
      return "done";`,
  },
};
