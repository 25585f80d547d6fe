import type { Capability, JsonObject } from "@envport/wire";
import { EnvportError, fromManifest, isJsonObject, own } from "@envport/wire";
import type { Manifest } from "./manifest.ts";

/**
 * Reads the reply to `hello`.
 *
 * @param result What the server answered.
 * @param resumed The session that was asked for, if one was.
 * @throws {EnvportError} If it has another shape than the contract says, or is about another session
 *   (`protocol-violation`).
 */
export function readManifest(result: JsonObject, resumed?: unknown): Manifest {
  const env = own(result, "env");
  const sessionId = own(result, "session_id");
  const bindings = own(result, "bindings");
  const protocol = own(result, "protocol");
  const capabilities = own(result, "capabilities");
  if (typeof sessionId !== "string" || sessionId === "")
    throw violation("'session_id' must be a non-empty string", sessionId);
  if (resumed !== undefined && sessionId !== resumed) {
    throw violation(
      `'session_id' must be the session that was asked for, ${JSON.stringify(resumed)}`,
      sessionId,
    );
  }
  if (!isJsonObject(env)) throw violation("'env' must be an object", env);
  if (!Array.isArray(bindings)) throw violation("'bindings' must be an array", bindings);
  return {
    sessionId,
    environment: { name: text(own(env, "name")), version: text(own(env, "version")) },
    bindings: bindings.map(readBinding),
    protocol: typeof protocol === "string" ? protocol : undefined,
    capabilities: isJsonObject(capabilities) ? capabilities : {},
  };
}

function readBinding(data: unknown, index: number): Capability {
  try {
    return fromManifest(data);
  } catch (cause) {
    const why = (cause as Error).message;
    throw new EnvportError(
      "protocol-violation",
      `Cannot read the reply to hello, bindings[${String(index)}]: ${why}`,
      {
        cause,
      },
    );
  }
}

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function violation(rule: string, value: unknown): EnvportError {
  const shown = value === undefined ? "undefined" : JSON.stringify(value).slice(0, 100);
  return new EnvportError(
    "protocol-violation",
    `Cannot read the reply to hello as ${rule}: current value is ${shown}`,
  );
}
