/**
 * The `mcp/2025-11-25` capability: the factory that describes an MCP server, a client, and a service that serves a server
 * you already have.
 *
 * @module
 */
export { mcp } from "./mcp.ts";
export { mcpCapability } from "./mcp_capability.ts";
export type { McpCapabilityOptions, McpTransport } from "./mcp_capability.ts";
export { McpClient } from "./mcp_client.ts";
export type { McpClientEvents } from "./mcp_client.ts";
export type { CallToolOptions, McpConnectOptions, McpRequestOptions } from "./mcp_client_options.ts";
export { mcpServer } from "./mcp_server.ts";
export { McpService } from "./mcp_service.ts";
export type { ConnectableServer, McpServiceOptions, ServerFactory } from "./mcp_service_options.ts";
