import { readFileSync } from "node:fs";
import type { Client, EvaluationResult } from "@envport/client";
import { ProtocolError } from "@envport/wire";
import type { Command, CommandContext } from "../_command.ts";
import { Failure, messageOf, usage } from "../_failure.ts";
import type { Invocation } from "../_invocation.ts";
import { parseArguments } from "../_json_object.ts";
import { RememberedSessions } from "../_remembered_sessions.ts";
import { startTask } from "../_start_task.ts";
import type { Target } from "../_target.ts";
import { TARGET_OPTIONS, openTarget } from "../_target.ts";

/** `envport task grade` */
export const taskGradeCommand: Command = {
  path: "task grade",
  summary: "Answer a task and print its score",
  details:
    "It grades the task that 'task start' of the same user left in the environment, and no other: to grade one without that, say whose with --session, --adopt or --start. With --source the task is started and graded at once.",
  arguments: [{ name: "task", summary: "The task's id, as 'task list' shows it" }],
  options: [
    ...TARGET_OPTIONS,
    { name: "answer", value: "text", summary: "The answer; none is sent without it" },
    {
      name: "answer-file",
      value: "file",
      files: "file",
      summary: "Read the answer from this file; - is standard input",
    },
    {
      name: "args",
      short: "a",
      value: "json",
      summary: "With --start or --source: the task's arguments, a JSON object [{}]",
    },
    {
      name: "session",
      value: "id",
      summary: "Grade the task of this session, as 'task start --json' prints it",
    },
    { name: "adopt", summary: "Grade the only task that is parked there, whoever started it" },
    { name: "start", summary: "Start the task and grade it at once" },
    { name: "out", short: "o", value: "file", files: "file", summary: "Write the score to this file" },
  ],
  examples: [
    ["task grade fix-sum --answer done", "Grade what 'task start fix-sum' began"],
    [
      "task grade report --answer-file - --json < report.md",
      "The answer from standard input; the whole evaluation",
    ],
    [
      `task grade add --source env.ts --args '{"a": 2}' --answer 3`,
      "Start and grade in an environment of its own",
    ],
  ],
  async run(invocation, context) {
    const id = invocation.argument("task");
    const answer = readAnswer(invocation);
    const args = parseArguments(invocation.option("args"));
    await using target = await openTarget(invocation, context);
    const isFresh = target.isSpawned || invocation.flag("start");
    const evaluation = isFresh
      ? await startAndGrade(target, { id, args, answer, context })
      : await gradeParked(target, { id, answer, invocation, context });
    context.output.resultTo(invocation.option("out"), String(evaluation.score), evaluation);
    return 0;
  },
};

function readAnswer(invocation: Invocation): string | undefined {
  const [text, file] = [invocation.option("answer"), invocation.option("answer-file")];
  if (file === undefined) return text;
  if (text !== undefined) throw usage("Cannot use --answer and --answer-file together: there is one answer");
  try {
    return readFileSync(file === "-" ? process.stdin.fd : file, "utf8");
  } catch (error) {
    throw usage(
      `Cannot read --answer-file ${JSON.stringify(file)}: ${(error as NodeJS.ErrnoException).code ?? messageOf(error)}`,
    );
  }
}

interface Grading {
  id: string;
  answer: string | undefined;
  context: CommandContext;
}

async function startAndGrade(
  target: Target,
  { id, args, answer, context: { signal } }: Grading & { args: Record<string, unknown> },
): Promise<EvaluationResult> {
  await using client = await target.connect();
  const task = await startTask(client, id, args, { signal });
  return await task.grade(answer, { signal });
}

async function gradeParked(
  target: Target,
  { id, answer, invocation, context }: Grading & { invocation: Invocation },
): Promise<EvaluationResult> {
  const { signal } = context;
  if (invocation.flag("adopt")) {
    await using client = await target.connect();
    return await client.grade(answer, { adopt: true, signal });
  }
  const sessions = new RememberedSessions();
  const { url } = target;
  const session = invocation.option("session") ?? sessions.find(url, id);
  if (session === undefined) throw notStarted(id, url);
  await using client = await resume(target, session, id);
  // The session is kept until its result has arrived: after a lost connection it can be asked for again.
  const evaluation = await client.grade(answer, { signal });
  sessions.forget(client.url, id);
  return evaluation;
}

async function resume(target: Target, sessionId: string, id: string): Promise<Client> {
  try {
    return await target.connect({ sessionId });
  } catch (error) {
    if (!(error instanceof ProtocolError)) throw error;
    throw new Failure(
      "unknown-session",
      `Cannot grade '${id}' as the environment no longer has its session (${error.message}): start the task again`,
      {
        cause: error,
      },
    );
  }
}

function notStarted(id: string, url: string): Failure {
  return new Failure(
    "no-session",
    `Cannot grade '${id}' as you have not started it at ${url}: run envport task start ${id} first, or say --session <id>, --adopt or --start`,
  );
}
