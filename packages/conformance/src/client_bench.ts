import { spawnClient } from "./_client/client_process.ts";
import { playClient } from "./_client/play_client.ts";
import { checkRules } from "./_play.ts";
import type { Report } from "./report.ts";
import type { Profile } from "./requirement.ts";

/** Options of {@linkcode runClientBench}. */
export interface ClientBenchOptions {
  /** A program and its words that do the steps of the client fixture; it is told the url in `CONFORMANCE_URL`. */
  command: readonly string[];
  /** @default {"strict"} */
  profile?: Profile;
  /** Ids of the only rules to try. */
  rules?: readonly string[];
  /**
   * How long to wait for what must come, in milliseconds; starting the program is no part of it.
   *
   * @default {10000}
   */
  patience?: number;
}

/**
 * Tries every rule of the contract that binds a client: the bench is the server, starts the client's program, tells it
 * steps on its standard input, and judges what comes over the wire (README, "The fixture of a client").
 *
 * @param options The program, and what to try.
 * @returns What became of each rule; a rule that fails is no exception.
 * @throws {BenchError} If the program cannot be started, or does not even connect.
 *
 * @example
 * ```ts no-run
 * import { formatReport, runClientBench } from "@envport/conformance";
 *
 * const report = await runClientBench({ command: ["python", "fixtures/client.py"], profile: "base" });
 * console.log(formatReport(report));
 * ```
 */
export async function runClientBench(options: ClientBenchOptions): Promise<Report> {
  const { command, profile = "strict", rules } = options;
  checkRules(rules, "client");
  const patience = { ms: options.patience ?? 10_000 };
  const results = await playClient(spawnClient(command), { profile, rules, patience });
  const ok = results.every(({ status }) => status !== "fail");
  return { side: "client", target: command.join(" "), profile, rules: results, ok };
}
