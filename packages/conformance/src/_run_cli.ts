import type { CliOptions } from "./_cli_options.ts";
import { HELP, readCliOptions } from "./_cli_options.ts";
import { BenchError } from "./bench_error.ts";
import { formatReport } from "./format_report.ts";
import type { Report } from "./report.ts";
import { runClientBench } from "./client_bench.ts";
import { requirements } from "./requirements.ts";
import { runServerBench } from "./server_bench.ts";

/** What the command has to say, and its exit code. */
export interface CliResult {
  readonly code: 0 | 1 | 2;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Does what the command line says.
 *
 * @param words What stands behind the program's name.
 */
export async function runCli(words: readonly string[]): Promise<CliResult> {
  try {
    return { stderr: "", ...(await perform(readCliOptions(words))) };
  } catch (error) {
    if (!(error instanceof BenchError)) throw error;
    return { code: 2, stdout: "", stderr: `${error.message}\n` };
  }
}

async function perform(options: CliOptions): Promise<Omit<CliResult, "stderr">> {
  const { action, json } = options;
  if (action === "help") return { code: 0, stdout: HELP };
  if (action === "rules")
    return { code: 0, stdout: json ? `${JSON.stringify(requirements)}\n` : listRules() };
  const report = await runBench(options);
  const stdout = json ? `${JSON.stringify(report)}\n` : formatReport(report, options);
  return { code: report.ok ? 0 : 1, stdout };
}

async function runBench({
  action,
  url,
  command,
  profile,
  rules,
  modelRuns,
  seed,
  patience,
}: CliOptions): Promise<Report> {
  const common = {
    profile,
    ...(rules === undefined ? {} : { rules }),
    ...(patience === undefined ? {} : { patience }),
  };
  if (action === "client") return await runClientBench({ ...common, command: command! });
  return await runServerBench({
    ...common,
    ...(url === undefined ? {} : { url }),
    ...(command === undefined ? {} : { command }),
    ...(modelRuns === undefined ? {} : { modelRuns }),
    ...(seed === undefined ? {} : { seed }),
  });
}

function listRules(): string {
  return requirements
    .map(({ id, source, sides, sentence, unseen, scenarios }) =>
      [
        `${id.padEnd(8)} ${source.padEnd(6)} ${sides.join(", ")}: ${sentence}`,
        ...scenarios.map(({ side, name }) => `           ${side}: ${name}`),
        ...(unseen === undefined ? [] : [`           not seen: ${unseen}`]),
      ].join("\n"),
    )
    .join("\n")
    .concat("\n");
}
