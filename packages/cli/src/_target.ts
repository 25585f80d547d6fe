import type { Client, ConnectOptions } from "@envport/client";
import { connect } from "@envport/client";
import { EnvportError, ErrorCode, ProtocolError, formatEndpointUrl, parseEndpointUrl } from "@envport/wire";
import type { CommandContext, OptionSpec } from "./_command.ts";
import { CONNECT_OPTIONS, readConnectOptions, waitOf } from "./_connect_options.ts";
import { Failure, messageOf, usage } from "./_failure.ts";
import type { Invocation } from "./_invocation.ts";
import { parseModuleRef } from "./_module_ref.ts";
import { ServeChild } from "./_serve_child.ts";
import { ExitCode } from "./exit_code.ts";

/** Where an environment is served by default. */
export const DEFAULT_URL = "tcp://127.0.0.1:8765";

const WAIT_LONGER = "is it served there? --wait <seconds> waits longer";
const SERVE_ONE = "serve one with envport serve <file>, or say --url <url> or --source <file>";

/** The options of commands that attach to a served environment, or spawn one. */
export const TARGET_OPTIONS: readonly OptionSpec[] = [
  { name: "url", short: "u", value: "url", summary: `A served environment [${DEFAULT_URL}]` },
  {
    name: "source",
    short: "s",
    value: "file",
    files: "file",
    summary: "Serve this module (file[:name]) for the time of the command instead",
  },
  ...CONNECT_OPTIONS,
];

/** An environment that a command works on. */
export interface Target {
  /** Whole: with scheme and port. */
  readonly url: string;
  /** Whether it was spawned for this command and ends with it. */
  readonly isSpawned: boolean;
  /** What the command line says of how to connect; a token of the environment can be read once only. */
  readonly options: ConnectOptions;
  /** Connects to it; the options are those of the client. */
  connect(options?: ConnectOptions): Promise<Client>;
  [Symbol.asyncDispose](): Promise<void>;
}

/**
 * Finds what `--url` or `--source` says.
 *
 * @throws {Failure} `usage`, `spawn-failed`
 */
export async function openTarget(invocation: Invocation, context: CommandContext): Promise<Target> {
  const [url, source] = [invocation.option("url"), invocation.option("source")];
  if (source === undefined)
    return servedTarget(url ?? DEFAULT_URL, invocation, context, url === undefined ? SERVE_ONE : undefined);
  if (url !== undefined)
    throw usage("Cannot use --url and --source together: one attaches, the other spawns");
  const { file, exportName } = parseModuleRef(source, "env");
  const target = exportName === undefined ? file : `${file}:${exportName}`;
  const modes = [
    ...(context.output.json ? ["--json"] : []),
    ...(context.output.verbose ? ["--verbose"] : []),
  ];
  // Nothing of the caller's secrets reaches the environment that is spawned.
  readConnectOptions(invocation);
  const child = new ServeChild({ words: [target, "--port", "0", ...modes] });
  const stop = (): void => void child.stop();
  context.signal.addEventListener("abort", stop, { once: true });
  try {
    const spawned = servedTarget((await child.ready).url, invocation, context);
    return { ...spawned, isSpawned: true, [Symbol.asyncDispose]: () => child.stop() };
  } catch (error) {
    await child.stop();
    throw error;
  }
}

/** A served environment by its url. */
export function servedTarget(
  address: string,
  invocation: Invocation,
  { output, signal }: CommandContext,
  remedy: string = WAIT_LONGER,
): Target {
  const url = toUrl(address);
  const wait = waitOf(invocation);
  const given = readConnectOptions(invocation);
  return {
    url,
    isSpawned: false,
    options: given,
    connect: async (options) => {
      try {
        return await connect(url, { ...given, signal, logger: output, ...options });
      } catch (error) {
        throw explain(error, { url, wait, remedy });
      }
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** The whole url of an address that may lack its scheme or port. */
function toUrl(address: string): string {
  try {
    return formatEndpointUrl(parseEndpointUrl(address));
  } catch (error) {
    throw usage(messageOf(error));
  }
}

function explain(
  error: unknown,
  { url, wait, remedy }: { url: string; wait: number; remedy: string },
): unknown {
  const { cause } = error as { cause?: unknown };
  // Such as a key that is none.
  if (error instanceof TypeError) return usage(error.message);
  if (error instanceof ProtocolError && error.code === ErrorCode.unauthorized) {
    const message = `Cannot connect to ${url} as it asks for another access token: say --token-file <file>, or set ENVPORT_TOKEN`;
    return new Failure("unauthorized", message, { cause: error, exitCode: ExitCode.cannotConnect });
  }
  if (!(error instanceof EnvportError) || error.code !== "not-ready") return error;
  const reason = (cause as NodeJS.ErrnoException | undefined)?.code;
  const within = wait === 0 ? "" : ` within ${String(wait)} s`;
  const message = `Cannot connect to ${url} as no environment answered${within}${reason === undefined ? "" : ` (${reason})`}: ${remedy}`;
  return new Failure("not-ready", message, { cause: error, exitCode: ExitCode.cannotConnect });
}
