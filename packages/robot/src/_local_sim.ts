import { EnvportError, makePrivateFolder, removePrivateFolder } from "@envport/wire";
import { join } from "node:path";
import { AgentListener } from "./_agent_listener.ts";
import type { ListenTarget } from "./_agent_listener.ts";
import { RobotHost } from "./_robot_host.ts";
import type { Sim } from "./_sim.ts";
import type { RobotBridge } from "./robot_bridge.ts";
import type { RobotBridgeOptions } from "./robot_bridge_options.ts";
import type { RobotContract } from "./robot_contract.ts";
import { ROBOT_PORT, robotCapability } from "./robot_capability.ts";

/** Where a simulator in this process listens. */
export interface LocalSimOptions extends RobotBridgeOptions {
  readonly host?: string | undefined;
  readonly port?: number | undefined;
}

/** Runs a bridge in this process. */
export async function startLocalSim(bridge: RobotBridge, options: LocalSimOptions): Promise<Sim> {
  const { host, port } = options;
  const robot = new RobotHost(bridge, options);
  const listener = new AgentListener(robot, options);
  const onTcp = host !== undefined || port !== undefined;
  const folder = onTcp ? undefined : makePrivateFolder();
  const target: ListenTarget =
    folder === undefined
      ? { host: host ?? "127.0.0.1", port: port ?? 0 }
      : { path: join(folder, "robot.sock") };
  const stop = async (): Promise<void> => {
    await Promise.all([robot.close(), listener.close()]);
    if (folder !== undefined) removePrivateFolder(folder);
  };
  let contract: RobotContract;
  let bound: number | undefined;
  try {
    contract = await robot.contract();
    bound = await listener.listen(target);
  } catch (error) {
    await stop();
    if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    const where = `${host ?? "127.0.0.1"}:${String(port)}`;
    throw new EnvportError("address-in-use", `Cannot serve robot as ${where} is taken`, { cause: error });
  }
  const shown = host?.includes(":") ? `[${host}]` : (host ?? "127.0.0.1");
  const url = `ws://${shown}:${String(bound ?? ROBOT_PORT)}`;
  let settle: ((reason: undefined) => void) | undefined;
  return {
    closed: new Promise((resolve) => (settle = resolve)),
    capabilities: (name) => {
      const capability = robotCapability({ name, url, contract });
      return Promise.resolve([onTcp ? capability : { ...capability, dial: target }]);
    },
    reset: (args) => robot.reset(args),
    result: (token) => robot.result(token),
    release: (token) => robot.release(token),
    stop: async () => {
      await stop();
      settle?.(undefined);
    },
  };
}
