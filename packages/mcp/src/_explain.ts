import { SdkError, SdkErrorCode, SseError, UnauthorizedError } from "@modelcontextprotocol/client";
import { EnvportError, ProtocolError, isJsonObject } from "@envport/wire";
import type { EnvportErrorCode, ProtocolErrorData } from "@envport/wire";
import { isLost } from "./_http_transport.ts";

/** The HTTP status in an error of the library or of ours. */
export function statusOf(error: unknown): number | undefined {
  if (error instanceof UnauthorizedError) return 401;
  if (error instanceof SseError) return error.code;
  return error instanceof Error && "status" in error && typeof error.status === "number"
    ? error.status
    : undefined;
}

/**
 * Whether the server says that it does not know the session, and so has not done what was asked: 404 by the specification;
 * servers built after the examples of the first libraries say 400.
 */
export function saysForgotten(error: unknown): boolean {
  const status = statusOf(error);
  return status === 404 || (status === 400 && error instanceof Error && /session/i.test(error.message));
}

/**
 * Turns what the library throws into an error of ours.
 *
 * @param act What was tried: `"call tool 'add'"`.
 */
export function explain(error: unknown, act: string): Error {
  if (error instanceof EnvportError || error instanceof TypeError || error instanceof RangeError)
    return error;
  if (!(error instanceof Error)) return new Error(String(error));
  const code = codeOf(error);
  if (code) return new EnvportError(code, `Cannot ${act} as ${reasonOf(error, code)}`, { cause: error });
  const { code: number, data } = error as { code?: unknown; data?: unknown };
  if (typeof number !== "number") return error;
  const typed =
    isJsonObject(data) && typeof data["type"] === "string" ? (data as ProtocolErrorData) : undefined;
  const protocolError = new ProtocolError(number, error.message, typed);
  protocolError.cause = error;
  return protocolError;
}

function codeOf(error: Error): EnvportErrorCode | undefined {
  const status = statusOf(error);
  if (status === 401 || status === 403) return "authentication-failed";
  if (status === 404 || status === 405) return "unsupported";
  if (isLost(error)) return "connection-lost";
  if (error instanceof SdkError) return ofLibrary(error.code);
  if (status !== undefined) return "protocol-violation";
  if (error instanceof SseError) return "connection-lost";
  const system = (error as NodeJS.ErrnoException).code;
  return typeof system === "string" || /^(?:Not connected|socket hang up|WebSocket )/.test(error.message)
    ? "connection-lost"
    : undefined;
}

function ofLibrary(code: SdkErrorCode): EnvportErrorCode {
  switch (code) {
    case SdkErrorCode.RequestTimeout:
      return "timeout";
    case SdkErrorCode.ConnectionClosed:
    case SdkErrorCode.NotConnected:
    case SdkErrorCode.SendFailed:
      return "connection-lost";
    case SdkErrorCode.CapabilityNotSupported:
      return "unsupported";
    default:
      return "protocol-violation";
  }
}

function reasonOf(error: Error, code: EnvportErrorCode): string {
  const status = statusOf(error);
  if (code === "authentication-failed") return `the server refuses the request: HTTP ${String(status)}`;
  if (code === "connection-lost") return `the connection is lost: ${error.message}`;
  return error.message.slice(0, 300);
}
