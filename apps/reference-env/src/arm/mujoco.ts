import loadModule from "@mujoco/mujoco";
import type { MainModule } from "@mujoco/mujoco";

let loading: Promise<MainModule> | undefined;

/** MuJoCo, compiled to WebAssembly; it is loaded once. What it prints goes to standard error. */
export async function loadMujoco(): Promise<MainModule> {
  const say = (text: string): void => void process.stderr.write(`mujoco: ${text}\n`);
  return await (loading ??= loadModule({ print: say, printErr: say }));
}
