import { parseArgs } from "node:util";
import { BenchError } from "./bench_error.ts";
import type { Profile } from "./requirement.ts";

/** What a person asks for on the command line. */
export interface CliOptions {
  action: "server" | "client" | "rules" | "help";
  url: string | undefined;
  /** What stands behind `--`. */
  command: string[] | undefined;
  profile: Profile;
  rules: string[] | undefined;
  json: boolean;
  verbose: boolean;
  modelRuns: number | undefined;
  seed: number | undefined;
  patience: number | undefined;
}

/** What `--help` prints. */
export const HELP = `The control-channel contract as a bench.

  envport-conformance server tcp://host:port     try a server that offers the fixture
  envport-conformance server -- <command…>       start one that prints HUD_SERVE_PORT=<port>, try it, stop it
  envport-conformance client -- <command…>       try a client: the bench is its server
  envport-conformance rules                      list the rules and what is tried for each

  --profile base|strict   what is claimed: what the Python peer does, or the whole contract [strict]
  --rule SESS-6           only this rule; again for more; "model" for the random sequences
  --model-runs 100        how many random sequences of calls are played [100]; 0 for none
  --seed 42               the seed of the random sequences; the report tells it
  --patience 10000        how long to wait for what must come, in milliseconds [10000]
  --verbose               list every scenario, not only those that failed
  --json                  the report as one JSON object

Exit code: 0 nothing failed, 1 something failed, 2 the bench could not run.
What a server or client under test must offer is in the README, "Fixtures".
`;

const OPTIONS = {
  profile: { type: "string", default: "strict" },
  rule: { type: "string", multiple: true },
  json: { type: "boolean", default: false },
  verbose: { type: "boolean", default: false },
  "model-runs": { type: "string" },
  seed: { type: "string" },
  patience: { type: "string" },
  help: { type: "boolean", short: "h", default: false },
} as const;

/**
 * Reads the command line.
 *
 * @param words What stands behind the program's name.
 * @throws {BenchError} If it makes no sense; the message says what would.
 */
export function readCliOptions(words: readonly string[]): CliOptions {
  const split = words.indexOf("--");
  const own = split < 0 ? words : words.slice(0, split);
  const command = split < 0 ? undefined : words.slice(split + 1);
  const { values, positionals } = parse([...own]);
  const [action = "help", url, ...others] = positionals;
  if (values.help || action === "help") return { ...common(values), action: "help", url, command };
  if (action !== "server" && action !== "client" && action !== "rules") {
    throw new BenchError(
      `Cannot do ${JSON.stringify(action)} as it must be server, client or rules: see --help`,
    );
  }
  if (others.length > 0)
    throw new BenchError(`Cannot use ${JSON.stringify(others[0])}: a command stands behind --`);
  checkTarget(action, url, command);
  return { ...common(values), action, url, command };
}

function parse(
  args: string[],
): ReturnType<typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>> {
  try {
    return parseArgs({ args, options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new BenchError(`Cannot read the command line: ${(error as Error).message}`);
  }
}

function checkTarget(action: string, url: string | undefined, command: string[] | undefined): void {
  if (command?.length === 0) throw new BenchError("Cannot start a command as none stands behind --");
  if (action === "server" && (url === undefined) === (command === undefined)) {
    throw new BenchError("Cannot try a server as it must be tcp://host:port or -- <command…>, one of them");
  }
  if (action === "client" && (command === undefined || url !== undefined)) {
    throw new BenchError(
      "Cannot try a client as it must be -- <command…>: the bench is its server and tells it the url",
    );
  }
}

type Values = ReturnType<typeof parse>["values"];

function common(values: Values): Omit<CliOptions, "action" | "url" | "command"> {
  const { profile, rule, json, verbose } = values;
  if (profile !== "base" && profile !== "strict") {
    throw new BenchError(
      `Cannot use --profile as it must be base or strict: current value is ${JSON.stringify(profile)}`,
    );
  }
  return {
    profile,
    rules: rule?.flatMap((text) => text.split(",")).map((id) => (id === "model" ? id : id.toUpperCase())),
    json,
    verbose,
    modelRuns: wholeNumber(values, "model-runs"),
    seed: wholeNumber(values, "seed"),
    patience: wholeNumber(values, "patience"),
  };
}

function wholeNumber(values: Values, name: "model-runs" | "seed" | "patience"): number | undefined {
  const text = values[name];
  if (text === undefined) return undefined;
  if (/^-?\d{1,15}$/.test(text) && (name === "seed" || !text.startsWith("-"))) return Number(text);
  throw new BenchError(
    `Cannot use --${name} as it must be a whole number: current value is ${JSON.stringify(text)}`,
  );
}
