import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { parentPort } from "node:worker_threads";
import { AgentListener } from "./_agent_listener.ts";
import { ControlListener } from "./_control_listener.ts";
import { RobotHost } from "./_robot_host.ts";
import { PORT_ANNOUNCEMENT, SOCKET_VARIABLE, STOP_MESSAGE } from "./_sim_program.ts";
import type { RobotBridge } from "./robot_bridge.ts";
import type { RobotBridgeOptions } from "./robot_bridge_options.ts";
import { ROBOT_PORT } from "./robot_capability.ts";

/** Options of {@linkcode serveBridge}. */
export interface ServeBridgeOptions extends RobotBridgeOptions {
  /**
   * Where agents and the environment connect.
   *
   * @default {"127.0.0.1"}
   */
  readonly host?: string | undefined;
  /**
   * The port of the control channel; 0 is any.
   *
   * @default {0}
   */
  readonly port?: number | undefined;
  /**
   * The port for agents; 0 is any. Where the endpoint that started this program gave it a socket, there is none.
   *
   * @default {0}
   */
  readonly agentPort?: number | undefined;
  /**
   * Whether to print `HUD_SIM_PORT=<port>`, and to end with SIGTERM, SIGINT, or the endpoint that started this program.
   *
   * @default {true}
   */
  readonly program?: boolean | undefined;
}

/** A bridge that is served. */
export interface ServedBridge extends AsyncDisposable {
  /** The port of the control channel. */
  readonly port: number;
  /** Where agents connect. */
  readonly url: string;
  /** Sends all agents away and ends the simulator. Idempotent. */
  close(): Promise<void>;
}

/**
 * Serves a bridge from a process or worker of its own: the last call of a simulator's program. It listens for agents and for
 * the environment, and tells the latter's port on standard output.
 *
 * A step that blocks its thread holds up its own sockets and nobody else's.
 *
 * @param bridge The simulator.
 * @param options Where to listen, and how to treat agents.
 * @throws {TypeError} If its contract breaks a rule.
 *
 * @example
 * ```ts
 * import { gym, RobotEndpoint, serveBridge } from "@envport/robot";
 * import assert from "node:assert/strict";
 *
 * const still = gym({
 *   actionSpace: { type: "box", shape: [1] },
 *   taskDescription: "Hold still.",
 *   reset: () => [Float32Array.of(0), {}],
 *   step: () => [Float32Array.of(0), 1, true, false, {}],
 * });
 * // In a program of its own it stands alone: await serveBridge(still);
 * await using served = await serveBridge(still, { program: false });
 * await using endpoint = RobotEndpoint.attach({ host: "127.0.0.1", port: served.port });
 * await endpoint.start();
 * assert.equal((await endpoint.reset()).prompt, "Hold still.");
 * ```
 */
export async function serveBridge(
  bridge: RobotBridge,
  options: ServeBridgeOptions = {},
): Promise<ServedBridge> {
  const { host = "127.0.0.1", port = 0, agentPort = 0, program = true } = options;
  const robot = new RobotHost(bridge, options);
  const agents = new AgentListener(robot, options);
  const path = program ? process.env[SOCKET_VARIABLE] : undefined;
  const shown = host.includes(":") ? `[${host}]` : host;
  let control: ControlListener | undefined;
  let controlPort: number;
  let url: string;
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> =>
    (closing ??= Promise.all([robot.close(), agents.close(), control?.close()]).then(() => undefined));
  try {
    await robot.contract();
    const bound = await agents.listen(path === undefined ? { host, port: agentPort } : { path });
    url = `ws://${shown}:${String(bound ?? ROBOT_PORT)}`;
    control = new ControlListener(robot, url);
    controlPort = await control.listen(host, port);
  } catch (error) {
    await close();
    throw error;
  }
  if (program) {
    endWithParent(close, path);
    process.stdout.write(`${PORT_ANNOUNCEMENT}${String(controlPort)}\n`);
  }
  return { port: controlPort, url, close, [Symbol.asyncDispose]: close };
}

/** @param path The socket in a private folder, which goes with the program if its parent is gone. */
function endWithParent(close: () => Promise<void>, path: string | undefined): void {
  const end = (): void => {
    const exit = (): void => {
      if (path !== undefined) rmSync(dirname(path), { recursive: true, force: true });
      process.exit(0);
    };
    void close().then(exit, exit);
  };
  if (parentPort) {
    parentPort.on("message", (message: unknown) => {
      if (message === STOP_MESSAGE) end();
    });
    return;
  }
  process.once("SIGTERM", end).once("SIGINT", end);
  if (path !== undefined) process.stdin.on("end", end).on("error", end).resume();
}
