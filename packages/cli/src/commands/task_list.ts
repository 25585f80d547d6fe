import type { Command } from "../_command.ts";
import { argumentsInLine, columns } from "../_describe_schema.ts";
import { TARGET_OPTIONS, openTarget } from "../_target.ts";

/** `envport task list` */
export const taskListCommand: Command = {
  path: "task list",
  summary: "List an environment's tasks",
  arguments: [],
  options: [...TARGET_OPTIONS, { name: "quiet", short: "q", summary: "Print the ids alone, one a line" }],
  examples: [
    ["task list", "Of the environment that is served on port 8765"],
    ["task list --source env.ts", "Of one that is served for this only"],
    ["task list --json", "With the JSON Schemas of their arguments"],
  ],
  async run(invocation, context) {
    await using target = await openTarget(invocation, context);
    await using client = await target.connect();
    const tasks = await client.tasks({ signal: context.signal });
    const ids = tasks.map(({ id }) => id);
    const rows = tasks.map((task) => [task.id, argumentsInLine(task), task.description]);
    const lines = invocation.flag("quiet") ? ids : columns(rows);
    if (lines.length > 0 || context.output.json) context.output.result(lines.join("\n"), tasks);
    if (lines.length === 0) context.output.note("The environment has no tasks");
    return 0;
  },
};
