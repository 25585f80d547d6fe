import path from "node:path";
import type { Client, Task } from "@envport/client";
import type { JsonObject } from "@envport/wire";
import type { Command, CommandContext } from "../_command.ts";
import { EpisodeReport } from "../_episode_report.ts";
import { Failure, messageOf } from "../_failure.ts";
import { findAgent } from "../_find_agent.ts";
import { parseArguments } from "../_json_object.ts";
import { loadModule } from "../_load_module.ts";
import { parseModuleRef } from "../_module_ref.ts";
import { withPlace } from "../_place_of.ts";
import { startTask } from "../_start_task.ts";
import { TARGET_OPTIONS, openTarget } from "../_target.ts";
import type { Agent } from "../agent.ts";
import { ExitCode } from "../exit_code.ts";

/** `envport run` */
export const runCommand: Command = {
  path: "run",
  summary: "Let an agent do a task: start, act, grade",
  details:
    "The agent's module exports an async function (client, task, {signal}) that works through client.open(…), reads task.promptText and returns the answer. On a terminal the episode is told in lines for people, else in one JSON object a line: connected, started, progress, answered, graded. What the agent prints goes to standard error.",
  arguments: [{ name: "task", summary: "The task's id, as 'task list' shows it" }],
  options: [
    { name: "agent", value: "file", files: "file", summary: "The agent's module (file[:name]) [agent.ts]" },
    ...TARGET_OPTIONS,
    { name: "args", short: "a", value: "json", summary: "The task's arguments, a JSON object [{}]" },
    { name: "min-score", value: "score", summary: "End with exit code 4 if the score is lower" },
  ],
  examples: [
    ["run fix-sum --agent agent.ts --source env.ts", "One episode, in an environment of its own"],
    ["run fix-sum --agent agents.ts:careful", "Against the one that is served on port 8765"],
    ["run fix-sum --source env.ts --min-score 1 --json", "In a script: exit code 4 if it was not solved"],
  ],
  async run(invocation, context) {
    const id = invocation.argument("task");
    const args = parseArguments(invocation.option("args"));
    const minScore = invocation.number("min-score");
    const ref = parseModuleRef(invocation.option("agent") ?? ".", "agent");
    context.output.claimStdout();
    const agent = findAgent(await loadModule(ref), ref);
    const report = new EpisodeReport(context.output);
    await using target = await openTarget(invocation, context);
    await using client = await target.connect({
      onProgress: (message, fraction) => report.tell({ event: "progress", message, fraction }),
    });
    const { url, environment, sessionId: session } = client;
    report.tell({ event: "connected", url, environment, session });
    const score = await episode(client, { id, args, agent, folder: path.dirname(ref.file), report, context });
    if (minScore === undefined || score >= minScore) return ExitCode.ok;
    context.output.note(`The score is below ${String(minScore)}`);
    return ExitCode.lowScore;
  },
};

interface Episode {
  id: string;
  args: JsonObject;
  agent: Agent;
  /** The folder of its module. */
  folder: string;
  report: EpisodeReport;
  context: CommandContext;
}

async function episode(
  client: Client,
  { id, args, agent, folder, report, context }: Episode,
): Promise<number> {
  const { signal } = context;
  try {
    const task = await startTask(client, id, args, { signal });
    report.tell({ event: "started", task: id, args, prompt: task.prompt });
    const began = performance.now();
    const work = agentWork(agent, { client, task, folder, signal });
    const answer = await untilGivenUp(client, work, signal);
    report.tell({ event: "answered", answer, ms: Math.round(performance.now() - began) });
    const answered = performance.now();
    const evaluation = await task.grade(answer, { signal });
    const { score } = evaluation;
    report.tell({ event: "graded", score, evaluation, ms: Math.round(performance.now() - answered) });
    return score;
  } finally {
    // The task is over, or given up: nothing of it is left in the environment.
    await client.bye().catch(() => undefined);
  }
}

/** Lets the agent work. */
async function agentWork(
  agent: Agent,
  { client, task, folder, signal }: { client: Client; task: Task; folder: string; signal: AbortSignal },
): Promise<unknown> {
  try {
    return await agent(client, task, { signal: whileConnected(client, signal) });
  } catch (error) {
    const message = withPlace(`The agent failed: ${messageOf(error)}`, error, folder);
    throw new Failure("agent-failed", message, { cause: error });
  }
}

/** Waits for an answer until the connection is lost or a signal comes. */
async function untilGivenUp(client: Client, answer: Promise<unknown>, signal: AbortSignal): Promise<unknown> {
  const given = new Promise<never>((_, reject) => {
    void client.closed.then(reject);
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
  return await Promise.race([answer, given]);
}

function whileConnected(client: Client, signal: AbortSignal): AbortSignal {
  const lost = new AbortController();
  void client.closed.then((reason) => lost.abort(reason));
  return AbortSignal.any([signal, lost.signal]);
}
