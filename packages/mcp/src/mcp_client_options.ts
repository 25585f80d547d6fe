import type { Client, ClientCapabilities, Progress } from "@modelcontextprotocol/client";
import type { AbortOptions, ProtocolConnectOptions } from "@envport/wire";

/** Options of {@linkcode McpClient.connect}; times are in milliseconds. */
export interface McpConnectOptions extends ProtocolConnectOptions {
  /**
   * How long opening a session may take.
   *
   * @default {30000}
   */
  connectTimeout?: number | undefined;
  /**
   * What the server may ask of this client: `{elicitation: {}}`, `{sampling: {}}`, `{roots: {}}`. Handlers for it are set
   * in `setup`.
   *
   * @default {{}}
   */
  capabilities?: ClientCapabilities | undefined;
  /** Called with the library's client before each session begins, so that handlers are there from the first message. */
  setup?: ((client: Client) => void) | undefined;
  /**
   * What the server reads of this client.
   *
   * @default {{ name: "envport", version: "0.1.0" }}
   */
  clientInfo?: { name: string; version: string } | undefined;
}

/** Options of a request; times are in milliseconds. */
export interface McpRequestOptions extends AbortOptions {
  /**
   * How long the server may say nothing about it; each progress report starts it again.
   *
   * @default {300000}
   */
  timeout?: number | undefined;
  /**
   * How long it may take altogether.
   *
   * @default no limit
   */
  maxTotalTimeout?: number | undefined;
}

/** Options of {@linkcode McpClient.callTool}. */
export interface CallToolOptions extends McpRequestOptions {
  /** Receives what the tool reports while it runs. */
  onProgress?: ((progress: Progress) => void) | undefined;
  /** Goes out as the `_meta` of the call. */
  meta?: Record<string, unknown> | undefined;
}
