/**
 * The mcp/2025-11-25 capability: factory, MCP client, and a service that serves an MCP server you already have.
 *
 * @module
 */
export {};
