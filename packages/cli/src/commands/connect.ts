import type { Client, TaskInfo } from "@envport/client";
import { SECRETS_OPTION, toPrintable } from "../_bindings.ts";
import type { Command } from "../_command.ts";
import { argumentLines, columns } from "../_describe_schema.ts";
import { CONNECT_OPTIONS } from "../_connect_options.ts";
import { DEFAULT_URL, servedTarget } from "../_target.ts";

/** `envport connect` */
export const connectCommand: Command = {
  path: "connect",
  summary: "Show what an environment has: tasks with their arguments, bindings",
  arguments: [{ name: "url", optional: true, summary: `Where it is served [${DEFAULT_URL}]` }],
  options: [SECRETS_OPTION, ...CONNECT_OPTIONS],
  examples: [
    ["connect", "The one that is served on port 8765"],
    ["connect tcp://127.0.0.1:9000 --wait 60", "Wait for one that is just being started"],
    ["connect --json", "With the JSON Schemas of arguments and answers"],
  ],
  async run(invocation, context) {
    const { output, signal } = context;
    const url = invocation.optionalArgument("url");
    const remedy = url === undefined ? "serve one with envport serve <file>, or name its url" : undefined;
    await using client = await servedTarget(url ?? DEFAULT_URL, invocation, context, remedy).connect();
    const tasks = await client.tasks({ signal });
    const { environment, manifest } = client;
    const bindings = client.bindings.map((one) => toPrintable(one, invocation.flag("secrets")));
    output.result(describe(client, tasks), {
      url: client.url,
      environment,
      protocol: manifest.protocol,
      capabilities: manifest.capabilities,
      tasks,
      bindings,
    });
    return 0;
  },
};

function describe({ environment, url, bindings }: Client, tasks: readonly TaskInfo[]): string {
  const { name, version } = environment;
  const rows = bindings.map((one) => [one.name, one.protocol, one.url]);
  return [
    `${name} ${version} at ${url}`,
    "",
    tasks.length === 0 ? "No tasks" : "Tasks",
    ...tasks.flatMap((task) => [
      `  ${task.id}${task.description === "" ? "" : `  ${task.description}`}`,
      ...argumentLines(task).map((line) => `    ${line}`),
    ]),
    "",
    bindings.length === 0 ? "No bindings" : "Bindings",
    ...columns(rows).map((line) => `  ${line}`),
  ].join("\n");
}
