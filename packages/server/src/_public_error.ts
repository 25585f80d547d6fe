import os from "node:os";
import path from "node:path";
import { types } from "node:util";
import { ErrorCode, ProtocolError } from "@envport/wire";

/**
 * What a client may read of an error that a task or hook threw (ERR-3): the message of an error thrown on purpose, the
 * code of a system error, never a stack trace, a path of this machine or a secret that can be told by its form.
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
 * @param error Whatever was thrown; nothing in it is trusted to be what it should be.
 */
export function publicMessage(error: unknown): string {
  try {
    if (typeof error === "string") return redact(error);
    if (!isError(error)) return "a value that is no Error was thrown";
    if (isSystemError(error)) return error.code;
    // Its message is the whole command line, and what the command printed.
    if ("cmd" in error && "killed" in error) return "a command failed";
    const message: unknown = error.message;
    return redact(String(message), error.stack) || codeOf(error) || error.name;
  } catch {
    return "an error that cannot be read was thrown";
  }
}

function isError(error: unknown): error is Error {
  return error instanceof Error || types.isNativeError(error);
}

/** Errors of the operating system and of the module loader: their text names paths and addresses. */
function isSystemError(error: Error): error is Error & { code: string } {
  const code = codeOf(error);
  return code !== undefined && ("syscall" in error || "errno" in error || code.endsWith("MODULE_NOT_FOUND"));
}

function codeOf(error: Error): string | undefined {
  return "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** Cuts a stack trace off, and replaces paths of this program's own files and what looks like a secret. */
function redact(message: string, stack = ""): string {
  const [text] = message.split(/\n\s+at /, 1);
  const folders = [...HOST_FOLDERS, ...foldersIn(stack)].sort((a, b) => b.length - a.length);
  return folders
    .reduce((result, folder) => result.replaceAll(pathsBelow(folder), "<path>"), text!)
    .replaceAll(/file:\/\/[^\s'"`),;]*/g, "<path>")
    .replaceAll(
      /-----BEGIN ([A-Z ]*)PRIVATE KEY-----[^]*?(?:-----END \1PRIVATE KEY-----|$)/g,
      "<private key>",
    )
    .replaceAll(/:\/\/[^\s/?#'"`@]*@/g, "://<credentials>@");
}

/** A folder and everything below it, not one whose name only begins alike. */
function pathsBelow(folder: string): RegExp {
  return new RegExp(
    `(?:file://)?${folder.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&")}(?![\\w.-])[^\\s'"\`),;:]*`,
    "g",
  );
}

/** The folders of the files that a stack trace goes through: where the environment's source is. */
function foldersIn(stack: string): string[] {
  const files = stack.matchAll(/^\s+at .*?(?:file:\/\/)?(\/[^\s():]+):\d+:\d+\)?$/gm);
  return [
    ...new Set([...files].map(([, file]) => (isSpecific(path.dirname(file!)) ? path.dirname(file!) : file!))),
  ];
}

/** A root folder says nothing. */
function isSpecific(folder: string): boolean {
  return path.dirname(folder) !== folder;
}

const HOST_FOLDERS: readonly string[] = [
  process.cwd(),
  path.dirname(process.argv[1] ?? "/"),
  path.resolve(import.meta.dirname, "../../.."),
  os.homedir(),
  os.tmpdir(),
].filter(isSpecific);
