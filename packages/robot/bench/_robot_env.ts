/** What the bench drives, in a process of its own: a robot behind the control port, one beside it, and a plain `ws`. */
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Environment, serve } from "@envport/server";
import { WebSocketServer } from "ws";
import { encode } from "../src/encode.ts";
import { NdArray } from "../src/nd_array.ts";
import type { RobotBridge } from "../src/robot_bridge.ts";
import { RobotEndpoint } from "../src/robot_endpoint.ts";

/** A slope with the noise of a sensor, as `peer_robot_bridge.py` makes it. */
function image(): NdArray {
  const noise = (index: number): number => (Math.imul(index, 2_654_435_761) >>> 16) & 15;
  const pixels = Uint8Array.from({ length: 224 * 224 * 3 }, (_, i) => (i >> 10) + noise(i));
  return new NdArray(pixels, [224, 224, 3]);
}

const data = {
  "observation/image": image(),
  "observation/wrist_image": image(),
  "observation/state": new NdArray(new Float32Array(8)),
};

/** A world of two pictures in which nothing happens. */
const bridge: RobotBridge = {
  contract: () => ({
    features: {
      "observation/image": { role: "observation", type: "rgb", shape: [224, 224, 3] },
      "observation/wrist_image": { role: "observation", type: "rgb", shape: [224, 224, 3] },
      "observation/state": { role: "observation", shape: [8] },
      action: { role: "action", shape: [7] },
    },
  }),
  reset: () => "look",
  step: () => undefined,
  observe: () => [{ data, terminated: false }],
};

const env = new Environment({ name: "bench" });
const tunnelled = new RobotEndpoint(bridge);
const direct = new RobotEndpoint(bridge, { name: "direct", port: 0 });
env.use(tunnelled);
env.use(direct);
env.template("drive").run(async function* (_args, { sessionId: session }) {
  await direct.reset({}, { session });
  const { frame, token } = await tunnelled.reset({}, { session });
  yield frame;
  yield await tunnelled.result(token);
});

const ready = encode({ ...data, terminated: false });
const folder = mkdtempSync(join(tmpdir(), "envport-bench-"));
process.once("SIGTERM", () => {
  rmSync(folder, { recursive: true });
  process.exit();
});
const path = join(folder, "raw.sock");
const server = createServer();
new WebSocketServer({ server, perMessageDeflate: false }).on("connection", (ws) => {
  ws.send(ready);
  ws.on("message", () => ws.send(ready));
});
await new Promise<void>((resolve) => server.listen(path, resolve));
env.addCapability({
  name: "raw",
  protocol: "raw/1",
  url: "ws://127.0.0.1:9091",
  params: {},
  dial: { path },
});

const { url } = await serve(env, { port: 0 });
console.log(url);
