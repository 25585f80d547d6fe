import type { Capability } from "@envport/wire";
import { EnvportError, own, parseCapabilityUrl } from "@envport/wire";
import type { McpTransport } from "./mcp_capability.ts";

/** Where a server is, and how to speak to it. */
export interface McpTarget {
  /** What errors call it. */
  readonly name: string;
  /** The server's own URL: its host stands in `Host` and in certificates. */
  readonly url: URL;
  /** Where connections go: the host and port of the URL, or a forwarder. */
  readonly dial: { readonly host: string; readonly port: number };
  readonly transport: McpTransport;
  readonly authToken: string | undefined;
}

/**
 * Reads a binding of the family `mcp`.
 *
 * @param capability Its URL can be dialled from here.
 * @param authority Host and port of the binding's own URL, where the capability's leads to a forwarder.
 * @throws {EnvportError} `invalid-value` If it is no such binding.
 */
export function mcpTarget(capability: Capability, authority: string | undefined): McpTarget {
  const { name, protocol, params } = capability;
  const fail = (rule: string, value: unknown): never => {
    throw new EnvportError(
      "invalid-value",
      `Cannot use binding '${name}' as ${rule}: current value is ${JSON.stringify(value)}`,
    );
  };
  if (!/^mcp(?:\/|$)/.test(protocol)) fail("it must be of the family mcp", protocol);
  const parts = parseCapabilityUrl(capability.url);
  if (!/^(?:http|ws)s?$/.test(parts.scheme)) fail("its url must be http, https, ws or wss", parts.scheme);
  const token = own(params, "auth_token");
  if (token !== undefined && typeof token !== "string") fail("'auth_token' must be a string", typeof token);
  const secure = parts.scheme === "https" || parts.scheme === "wss";
  const url = new URL(capability.url);
  url.username = url.password = url.hash = "";
  if (authority !== undefined && !/^(?:0\.0\.0\.0|\[::\])(?::|$)/.test(authority)) url.host = authority;
  return {
    name,
    url,
    dial: { host: parts.host, port: parts.port ?? (secure ? 443 : 80) },
    transport: transportOf(own(params, "transport"), parts, fail),
    authToken: token as string | undefined,
  };
}

/** The transport that a manifest names; one that names none is guessed from scheme and path. */
function transportOf(
  named: unknown,
  { scheme, rest }: { scheme: string; rest: string },
  fail: (rule: string, value: unknown) => never,
): McpTransport {
  const ofSockets = scheme.startsWith("ws");
  switch (named) {
    case undefined:
    case null:
      if (ofSockets) return "websocket";
      return /^[^?#]*\/sse\/?(?:[?#]|$)/.test(rest) ? "sse" : "streamable-http";
    case "websocket":
      if (!ofSockets) fail("transport 'websocket' must go with a ws or wss url", scheme);
      return named;
    case "sse":
    case "streamable-http":
      if (ofSockets) fail(`transport '${named}' must go with an http or https url`, scheme);
      return named;
    default:
      return fail("'transport' must be streamable-http, sse or websocket", named);
  }
}

/** The headers that prove who is asking. */
export function authorization({ authToken }: McpTarget): Record<string, string> {
  return authToken === undefined ? {} : { authorization: `Bearer ${authToken}` };
}
