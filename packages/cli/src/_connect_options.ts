import { readFileSync } from "node:fs";
import type { ConnectOptions } from "@envport/client";
import { readToken } from "@envport/wire";
import type { OptionSpec } from "./_command.ts";
import { messageOf, usage } from "./_failure.ts";
import type { Invocation } from "./_invocation.ts";

/** How long an environment may take to answer, in seconds. */
const DEFAULT_WAIT = 3;

/** Where a token may stand besides a file. */
const TOKEN_VARIABLE = "ENVPORT_TOKEN";

/** The options of every command that connects to a served environment. */
export const CONNECT_OPTIONS: readonly OptionSpec[] = [
  {
    name: "wait",
    value: "seconds",
    summary: `How long an environment that does not answer yet is waited for [${String(DEFAULT_WAIT)}]`,
  },
  {
    name: "token-file",
    value: "file",
    files: "file",
    summary: `A file with the access token that the environment asks for [the variable ${TOKEN_VARIABLE}]`,
  },
  {
    name: "ca",
    value: "file",
    files: "file",
    summary: "The authority of a tls:// or wss:// server's certificate, in PEM form [those of Node]",
  },
];

/** How long is waited, in seconds. */
export function waitOf(invocation: Invocation): number {
  return invocation.number("wait", { min: 0, max: 86_400 }) ?? DEFAULT_WAIT;
}

/**
 * What the options say, for the client.
 *
 * @throws {Failure} `usage` If a file cannot be read.
 */
export function readConnectOptions(invocation: Invocation): ConnectOptions {
  const [tokenFile, ca] = [invocation.option("token-file"), invocation.option("ca")];
  const token = readTokenFrom(tokenFile);
  return {
    readyTimeout: waitOf(invocation) * 1000,
    ...(token === undefined ? {} : { token }),
    ...(ca === undefined ? {} : { tls: { ca: readPem("ca", ca) } }),
  };
}

/** The variable is read even if a file is given: what is started from here must not inherit it. */
function readTokenFrom(file: string | undefined): string | undefined {
  const isSet = process.env[TOKEN_VARIABLE] !== undefined;
  try {
    const fromVariable = isSet ? readToken({ env: TOKEN_VARIABLE }) : undefined;
    return file === undefined ? fromVariable : readToken({ file });
  } catch (error) {
    throw usage(messageOf(error));
  }
}

/** The content of a file that an option names. */
export function readPem(option: string, file: string): string {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? messageOf(error);
    throw usage(`Cannot read --${option} ${JSON.stringify(file)}: ${reason}`);
  }
}
