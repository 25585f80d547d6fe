import { McpService } from "./mcp_service.ts";
import type { ConnectableServer, McpServiceOptions, ServerFactory } from "./mcp_service_options.ts";

/**
 * Serves an MCP server that you already have, for `env.use`: `McpServer` or `Server` of `@modelcontextprotocol/server`, or
 * of `@modelcontextprotocol/sdk` before it.
 *
 * @param server A function that makes a server for each session; or one server, which takes one client at a time.
 * @param options Where to listen, who may come in, limits.
 * @throws {TypeError} If the server is neither, or the path does not begin with a slash.
 *
 * @example
 * ```ts no-run
 * import { mcpServer } from "@envport/mcp";
 * import { Environment, serve } from "@envport/server";
 * import { McpServer } from "@modelcontextprotocol/server";
 * import { z } from "zod";
 *
 * const env = new Environment({ name: "calculator" });
 * env.use(
 *   mcpServer(() => {
 *     const server = new McpServer({ name: "calculator", version: "1.0.0" });
 *     server.registerTool("add", { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => ({
 *       content: [{ type: "text", text: String(a + b) }],
 *     }));
 *     return server;
 *   }),
 * );
 * await serve(env, { port: 8765 });
 * ```
 */
export function mcpServer(
  server: ConnectableServer | ServerFactory,
  options?: McpServiceOptions,
): McpService {
  return new McpService(server, options);
}
