import { EnvportError, ProtocolError } from "@envport/wire";
import { ExitCode } from "./exit_code.ts";

/** Why a command failed: a sentence for people, a code for programs, and what the process ends with. */
export class Failure extends Error {
  override readonly name = "Failure";
  readonly code: string;
  readonly exitCode: number;

  /**
   * @param code A word for programs: `usage`, `no-session`.
   * @param message What failed, and what to do.
   * @param options The exit code, and the error behind this one.
   */
  constructor(code: string, message: string, options: ErrorOptions & { exitCode?: number } = {}) {
    super(message, options);
    this.code = code;
    this.exitCode = options.exitCode ?? ExitCode.failed;
  }
}

/** The command line makes no sense. */
export function usage(message: string): Failure {
  return new Failure("usage", message, { exitCode: ExitCode.usage });
}

/** Errors of these codes mean that there is no environment to speak to, or no longer. */
const CONNECTION_CODES: readonly string[] = ["not-ready", "connection-lost", "protocol-violation", "closed"];

/** What a command threw, as it is told. */
export function toFailure(error: unknown): Failure {
  if (error instanceof Failure) return error;
  const cause = error;
  if (error instanceof ProtocolError) {
    const type = typeof error.data?.["type"] === "string" ? error.data["type"] : String(error.code);
    return new Failure(type, error.message, { cause });
  }
  if (error instanceof EnvportError) {
    const exitCode = CONNECTION_CODES.includes(error.code) ? ExitCode.cannotConnect : ExitCode.failed;
    return new Failure(error.code, error.message, { cause, exitCode });
  }
  const message = error instanceof Error ? error.message || error.name : String(error);
  return new Failure("failed", message, { cause });
}

/** The message of whatever was thrown. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
