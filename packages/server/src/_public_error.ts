import os from "node:os";
import path from "node:path";
import { ErrorCode, ProtocolError } from "@envport/wire";

/**
 * What a client may read of an error that a task or hook threw (ERR-3): the message of an error thrown on purpose, the
 * code of a system error, never a stack trace or a path of this machine.
 *
 * @param error Whatever was thrown.
 */
export function publicError(error: unknown): ProtocolError {
  if (error instanceof ProtocolError) return error;
  return new ProtocolError(ErrorCode.serverError, publicMessage(error));
}

/**
 * The text of {@linkcode publicError}.
 *
 * @param error Whatever was thrown.
 */
export function publicMessage(error: unknown): string {
  if (!(error instanceof Error)) return typeof error === "string" ? withoutHostPaths(error) : "a value that is no Error was thrown";
  if (isSystemError(error)) return error.code;
  return withoutHostPaths(error.message) || error.name;
}

/** Errors of the operating system: their text names paths and addresses. */
function isSystemError(error: Error): error is Error & { code: string } {
  return "code" in error && typeof error.code === "string" && ("syscall" in error || "errno" in error);
}

/** Cuts a stack trace off and replaces absolute paths below the folders that this program lives in. */
function withoutHostPaths(message: string): string {
  const [text] = message.split(/\n\s+at /, 1);
  return HOST_FOLDERS.reduce(
    (result, folder) => result.replaceAll(new RegExp(`(?:file://)?${escape(folder)}[^\\s'"\`),;:]*`, "g"), "<path>"),
    text!,
  );
}

function escape(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&");
}

/** Folders of this machine, longest first; a root folder says nothing. */
const HOST_FOLDERS: readonly string[] = [
  process.cwd(),
  path.dirname(process.argv[1] ?? "/"),
  path.resolve(import.meta.dirname, "../../.."),
  os.homedir(),
  os.tmpdir(),
]
  .filter((folder) => path.dirname(folder) !== folder)
  .sort((a, b) => b.length - a.length);
