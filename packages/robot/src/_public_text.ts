import { EnvportError, ProtocolError } from "@envport/wire";

const MAX_TEXT = 1_000;

/**
 * What another process may read of an error: the first line of its message, without paths of this machine; the code of a
 * system error, whose message has paths.
 */
export function publicText(error: unknown): string {
  if (!(error instanceof Error)) return "a value that is no Error was thrown";
  const { code, syscall } = error as NodeJS.ErrnoException;
  const isOurs = error instanceof EnvportError || error instanceof ProtocolError;
  if (!isOurs && typeof code === "string" && (syscall !== undefined || code.endsWith("MODULE_NOT_FOUND")))
    return code;
  const [line = ""] = error.message.split("\n", 1);
  const text = line
    .replaceAll(/(?:file:\/\/)?(?<![\w.\])])(?:\/[\w.@+-]+){2,}/g, "<path>")
    .slice(0, MAX_TEXT);
  return text || error.name;
}
