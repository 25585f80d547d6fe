import type { Logger } from "@envport/wire";

/** What an MCP server has to have: `McpServer` and `Server` of both generations of the library do. */
export interface ConnectableServer {
  /** Begins to serve what comes through a transport. */
  connect(transport: never): Promise<void>;
  /** Ends the connection. */
  close(): Promise<void>;
}

/** Makes the server of one session. */
export type ServerFactory = () => ConnectableServer | Promise<ConnectableServer>;

/** Options of {@linkcode mcpServer}; times are in milliseconds. */
export interface McpServiceOptions {
  /**
   * The name of its capability.
   *
   * @default {"tools"}
   */
  readonly name?: string | undefined;
  /**
   * Where it is served, for HTTP and WebSocket alike.
   *
   * @default {"/mcp"}
   */
  readonly path?: string | undefined;
  /**
   * A bearer token that clients must bring. The capability carries it, so that whoever may connect to the environment has
   * it, and no other process of the machine does.
   */
  readonly authToken?: string | undefined;
  /**
   * Which of the two transports the capability names; both are served.
   *
   * @default {"streamable-http"}
   */
  readonly transport?: "streamable-http" | "websocket" | undefined;
  /**
   * The address to listen on.
   *
   * @default {"127.0.0.1"}
   */
  readonly host?: string | undefined;
  /**
   * The port to listen on; 0 is any.
   *
   * @default {0}
   */
  readonly port?: number | undefined;
  /**
   * Listen on a socket in a private folder instead of a port: no web page, no sandboxed process and no other user reaches
   * it, nor does a program inside the environment that reads the capability's url.
   *
   * @default {false}
   */
  readonly socket?: boolean | undefined;
  /**
   * Host names, without ports, that requests may name beside `localhost`, `127.0.0.1` and `[::1]`.
   *
   * @default {[]}
   */
  readonly allowedHostnames?: readonly string[] | undefined;
  /**
   * How long a session over HTTP is kept when no request is being answered and no stream is open.
   *
   * @default {1800000}
   */
  readonly sessionTtl?: number | undefined;
  /**
   * How many sessions there may be at once. A new one takes the place of the one that nobody has used for longest; if
   * all are in use it is refused.
   *
   * @default {1000}
   */
  readonly maxSessions?: number | undefined;
  /**
   * Limit of one message of a client, in bytes.
   *
   * @default {67108864}
   */
  readonly maxMessageBytes?: number | undefined;
  /** @default {consoleLogger()} */
  readonly logger?: Logger | undefined;
}
