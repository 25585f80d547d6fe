import type { Client } from "@envport/client";
import { ProtocolError } from "@envport/wire";
import type { Command } from "../_command.ts";
import { parseArguments } from "../_json_object.ts";
import { RememberedSessions } from "../_remembered_sessions.ts";
import { startTask } from "../_start_task.ts";
import type { Target } from "../_target.ts";
import { DEFAULT_URL, TARGET_OPTIONS, openTarget } from "../_target.ts";

/** `envport task start` */
export const taskStartCommand: Command = {
  path: "task start",
  summary: "Start a task and print its prompt",
  details:
    "The task stays in the environment, waiting for its answer; 'task grade' of the same user sends it. Started again before that, the task is given up and begins anew.",
  arguments: [{ name: "task", summary: "The task's id, as 'task list' shows it" }],
  options: [
    ...TARGET_OPTIONS,
    { name: "args", short: "a", value: "json", summary: "The task's arguments, a JSON object [{}]" },
    { name: "out", short: "o", value: "file", files: "file", summary: "Write the prompt to this file" },
  ],
  examples: [
    ["task start fix-sum", "Start it where it is served, on port 8765"],
    [`task start add --args '{"a": 2}' --url tcp://127.0.0.1:9000`, "With arguments, somewhere else"],
    ["task start fix-sum --source env.ts", "Only see the prompt: the environment ends with the command"],
  ],
  async run(invocation, context) {
    const { output, signal } = context;
    const id = invocation.argument("task");
    const args = parseArguments(invocation.option("args"));
    const sessions = new RememberedSessions();
    await using target = await openTarget(invocation, context);
    await using client = await connectAgain(target, sessions.find(target.url, id));
    const task = await startTask(client, id, args, { signal });
    if (!target.isSpawned) sessions.remember(client.url, id, client.sessionId, output);
    const value = { url: client.url, task: id, session: client.sessionId, ...task.frame };
    output.resultTo(invocation.option("out"), task.promptText, value);
    output.note(target.isSpawned ? ENDED : gradeLine(id, client.url));
    return 0;
  },
};

const ENDED =
  "(The environment ends here, and the task with it. To grade it later, start it on one that is served)";

function gradeLine(id: string, url: string): string {
  const where = url === DEFAULT_URL ? "" : ` --url ${url}`;
  return `(Grade it with: envport task grade ${id} --answer <text>${where})`;
}

/** Comes back to the session that the last start of this task made, so that that one is cleaned up first. */
async function connectAgain(target: Target, sessionId: string | undefined): Promise<Client> {
  if (sessionId === undefined || target.isSpawned) return await target.connect();
  try {
    return await target.connect({ sessionId });
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    return await target.connect();
  }
}
