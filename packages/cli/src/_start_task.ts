import type { Client, Task } from "@envport/client";
import type { AbortOptions, JsonObject } from "@envport/wire";
import { ProtocolError } from "@envport/wire";
import { Failure } from "./_failure.ts";
import { suggestion } from "./_nearest.ts";

/**
 * Starts a task; of one that is not there it says which are.
 *
 * @throws {Failure} `unknown-task`
 */
export async function startTask(
  client: Client,
  id: string,
  args: JsonObject,
  options: AbortOptions,
): Promise<Task> {
  try {
    return await client.start(id, args, options);
  } catch (error) {
    if (!(error instanceof ProtocolError) || !error.message.startsWith("unknown task")) throw error;
    const ids = (await client.tasks(options)).map((task) => task.id);
    const known = ids.length === 0 ? "it has none" : `it has ${ids.join(", ")}`;
    const found = suggestion(id, ids);
    const message = `Cannot start '${id}' as ${client.environment.name} has no such task${found || `: ${known}`}`;
    throw new Failure("unknown-task", message, { cause: error });
  }
}
