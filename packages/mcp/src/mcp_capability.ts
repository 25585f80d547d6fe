import type { Capability } from "@envport/wire";
import { formatCapabilityUrl, parseCapabilityUrl } from "@envport/wire";

/** How MCP messages travel: HTTP of today, HTTP as it was until 2025, or one WebSocket. */
export type McpTransport = "streamable-http" | "sse" | "websocket";

/** What {@linkcode mcpCapability} describes. */
export interface McpCapabilityOptions {
  /**
   * Unique within the environment.
   *
   * @default {"tools"}
   */
  name?: string | undefined;
  /** Where the server listens: an `http`, `https`, `ws` or `wss` URL with its path, which often is `/mcp`. */
  url: string;
  /** A bearer token that the server asks for. */
  authToken?: string | undefined;
  /**
   * How messages travel.
   *
   * @default {"websocket"} if the URL is `ws` or `wss`, else `"streamable-http"`
   */
  transport?: McpTransport | undefined;
}

const PORTS = new Map([
  ["http", 80],
  ["https", 443],
  ["ws", 80],
  ["wss", 443],
]);

/**
 * Describes an MCP server as a capability of the family `mcp/2025-11-25`, with the parameters under their wire names. The
 * port is made explicit.
 *
 * @param options The server's address, and how to speak to it.
 * @throws {TypeError} If the URL is none of `http`, `https`, `ws` and `wss` (a server on standard input and output cannot
 *   be reached through a port), or the transport does not go with it.
 *
 * @example
 * ```ts
 * import { mcpCapability } from "@envport/mcp";
 * import assert from "node:assert/strict";
 *
 * const capability = mcpCapability({ url: "http://127.0.0.1:8040/mcp" });
 * assert.equal(capability.name, "tools");
 * assert.deepEqual(capability.params, { transport: "streamable-http" });
 * ```
 */
export function mcpCapability(options: McpCapabilityOptions): Capability {
  const { name = "tools", url, authToken } = options;
  if (!/^(?:http|ws)s?:\/\//i.test(url)) {
    throw new TypeError(
      `Cannot describe MCP server as its url must begin with http://, https://, ws:// or wss:// (a server on standard input and output has to be given to mcpServer): current value is ${JSON.stringify(url)}`,
    );
  }
  const parts = parseCapabilityUrl(url);
  const ofSockets = parts.scheme.startsWith("ws");
  const transport = options.transport ?? (ofSockets ? "websocket" : "streamable-http");
  if ((transport === "websocket") !== ofSockets) {
    const wanted = transport === "websocket" ? "ws or wss" : "http or https";
    throw new TypeError(
      `Cannot describe MCP server as transport '${transport}' must go with a ${wanted} url: current value is '${parts.scheme}'`,
    );
  }
  return {
    name,
    protocol: "mcp/2025-11-25",
    url: formatCapabilityUrl({ ...parts, port: parts.port ?? PORTS.get(parts.scheme) }),
    params: { transport, ...(authToken === undefined ? {} : { auth_token: authToken }) },
  };
}
