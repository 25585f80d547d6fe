import path from "node:path";
import { Environment } from "@envport/server";
import { workspace } from "@envport/workspace";
import { registerArm } from "./arm/task.ts";
import { registerDesktop } from "./desktop/task.ts";
import { registerRepair } from "./repair/task.ts";
import { registerTogether } from "./together/task.ts";
import { registerTools } from "./tools/task.ts";
import { registerWeb } from "./web/task.ts";

/** Options of {@linkcode createEnvironment}. */
export interface CreateEnvironmentOptions {
  /** Where the workspace's folder and the tasks' data are made. */
  folder: string;
}

/**
 * The reference environment: one of everything, and a task for each.
 *
 * @param options Where its files go.
 */
export async function createEnvironment({ folder }: CreateEnvironmentOptions): Promise<Environment> {
  const env = new Environment({ name: "reference", version: "0.1.0" });
  const shell = env.use(
    workspace(path.join(folder, "workspace"), {
      // The agent runs the project's tests with this same Node, wherever it is installed.
      env: { PATH: `${path.dirname(process.execPath)}:/usr/local/bin:/usr/bin:/bin` },
    }),
  );
  registerRepair(env, shell);
  const desk = registerTools(env, folder);
  const { garden, site } = await registerWeb(env);
  registerDesktop(env, folder);
  registerArm(env);
  registerTogether(env, { shell, desk, garden, site });
  return env;
}
