#!/usr/bin/env node
import type { CliOptions } from "./_cli_options.ts";
import { HELP, readCliOptions } from "./_cli_options.ts";
import { BenchError } from "./bench_error.ts";
import { formatReport } from "./format_report.ts";
import type { Report } from "./report.ts";
import { requirements } from "./requirements.ts";
import { runServerBench } from "./server_bench.ts";

/** Does what the command line says and returns the exit code. */
async function main(words: readonly string[]): Promise<number> {
  const options = readCliOptions(words);
  if (options.action === "help") {
    process.stdout.write(HELP);
    return 0;
  }
  if (options.action === "rules") {
    process.stdout.write(options.json ? `${JSON.stringify(requirements)}\n` : listRules());
    return 0;
  }
  const report = await runBench(options);
  process.stdout.write(options.json ? `${JSON.stringify(report)}\n` : formatReport(report, options));
  return report.ok ? 0 : 1;
}

async function runBench({
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

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  if (!(error instanceof BenchError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 2;
}
