import { mcpServer } from "@envport/mcp";
import type { Environment } from "@envport/server";
import path from "node:path";
import { z } from "zod";
import { DeskDatabase } from "./desk_database.ts";
import { createDeskServer } from "./desk_server.ts";

/**
 * The task `tools`: a help desk whose data can be read and changed through an MCP server only.
 *
 * @param env Where to register it, with its service.
 * @param folder Where the database goes.
 * @returns The data.
 */
export function registerTools(env: Environment, folder: string): DeskDatabase {
  const desk = new DeskDatabase(path.join(folder, "desk.sqlite"));
  env.shutdown(() => desk.close());
  env.use(mcpServer(() => createDeskServer(desk), { name: "tools", socket: true }));
  env
    .template("tools", {
      description: "Solve a customer's ticket with the tools of a help desk",
      args: z.object({ seed: z.int().default(7) }),
    })
    // eslint-disable-next-line @typescript-eslint/require-await -- a task is an async generator, whatever it does
    .run(async function* ({ seed }) {
      desk.reset(seed);
      yield "A customer has written to the help desk. Solve the open ticket with the desk's tools.";
      yield desk.score();
    });
  return desk;
}
