import {
  EnvportError,
  Lifecycle,
  consoleLogger,
  makePrivateFolder,
  removePrivateFolder,
} from "@envport/wire";
import type { AbortOptions, PublishedCapability, Service } from "@envport/wire";
import { join } from "node:path";
import { inspect } from "node:util";
import type { Endpoint } from "./_endpoint.ts";
import { mcpCapability } from "./mcp_capability.ts";
import type { ConnectableServer, McpServiceOptions, ServerFactory } from "./mcp_service_options.ts";

const SESSION_TTL = 30 * 60_000;
const MAX_SESSIONS = 1_000;
const MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

/** What is there between `start` and `stop`. */
interface Serving {
  readonly endpoint: Endpoint;
  readonly capability: PublishedCapability;
  /** A private folder for the socket. */
  readonly folder: string | undefined;
}

/**
 * An MCP server, served as `mcp/2025-11-25`: over streamable HTTP with sessions that outlive their connections, and over
 * WebSocket for clients that ask for it.
 *
 * @example
 * ```ts
 * import { McpClient, McpService } from "@envport/mcp";
 * import { McpServer } from "@modelcontextprotocol/server";
 * import assert from "node:assert/strict";
 * import { z } from "zod";
 *
 * const service = new McpService(() => {
 *   const server = new McpServer({ name: "calculator", version: "1.0.0" });
 *   server.registerTool("add", { inputSchema: z.object({ a: z.number(), b: z.number() }) }, ({ a, b }) => ({
 *     content: [{ type: "text", text: String(a + b) }],
 *   }));
 *   return server;
 * });
 * const [capability] = await service.start();
 * const client = await McpClient.connect(capability!);
 * const { content } = await client.callTool("add", { a: 2, b: 3 });
 * assert.deepEqual(content, [{ type: "text", text: "5" }]);
 * await client.close();
 * await service.stop();
 * ```
 */
export class McpService implements Service, AsyncDisposable {
  readonly #server: ConnectableServer | ServerFactory;
  readonly #options: McpServiceOptions;
  readonly #lifecycle: Lifecycle<Serving>;

  /**
   * Nothing happens yet.
   *
   * @param server A function that makes a server for each session; or one server, which takes one client at a time.
   * @param options Where to listen, who may come in, limits.
   * @throws {TypeError} If the server is neither, or the path does not begin with a slash.
   */
  constructor(server: ConnectableServer | ServerFactory, options: McpServiceOptions = {}) {
    const { path = "/mcp" } = options;
    if (
      typeof server !== "function" &&
      typeof (server as Partial<ConnectableServer>).connect !== "function"
    ) {
      throw new TypeError(
        `Cannot serve MCP server as it must be a server or a function that makes one: current value is ${inspect(server)}`,
      );
    }
    if (!/^\/[^\s?#]*[^\s?#/]$/.test(path)) {
      throw new TypeError(
        `Cannot serve MCP server as 'path' must begin with a slash and end without one: current value is ${JSON.stringify(path)}`,
      );
    }
    this.#server = server;
    this.#options = options;
    this.#lifecycle = new Lifecycle({
      name: this.name,
      start: () => this.#start(),
      stop: ({ endpoint, folder }) => close(endpoint, folder),
    });
  }

  /** What errors and logs call it. */
  get name(): string {
    return `MCP server '${this.#options.name ?? "tools"}'`;
  }

  /** Resolves when the server of the latest start is gone: to undefined after a `stop`, else to the reason. */
  get closed(): Promise<Error | undefined> {
    return this.#lifecycle.current?.endpoint.closed ?? Promise.resolve(undefined);
  }

  /**
   * How many sessions there are.
   *
   * @throws {EnvportError} `closed` If it is not started; so does the next one.
   */
  get sessions(): number {
    return this.#lifecycle.running.endpoint.sessions.size;
  }

  /** The capability as it is published. */
  get capability(): PublishedCapability {
    return this.#lifecycle.running.capability;
  }

  /**
   * Listens. Idempotent.
   *
   * @returns The one capability to publish.
   * @throws {EnvportError} `address-in-use`
   */
  async start(options: AbortOptions = {}): Promise<readonly PublishedCapability[]> {
    const { capability } = await this.#lifecycle.start(options);
    return [capability];
  }

  /** Ends every session. Idempotent; it may be started again. */
  async stop(): Promise<void> {
    await this.#lifecycle.stop();
  }

  /** The same as `stop`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #start(): Promise<Serving> {
    const { name, path = "/mcp", authToken, transport, host = "127.0.0.1", port = 0 } = this.#options;
    const { allowedHostnames = [], sessionTtl = SESSION_TTL, maxSessions = MAX_SESSIONS } = this.#options;
    const { maxMessageBytes = MAX_MESSAGE_BYTES, logger = consoleLogger() } = this.#options;
    const limits = { sessionTtl, maxSessions, maxMessageBytes };
    // A client needs nothing of what serving takes.
    const { Endpoint } = await import("./_endpoint.ts");
    const own = isWildcard(host) ? [] : [bracket(host)];
    const hostnames = [...allowedHostnames, ...own];
    const endpoint = new Endpoint({
      server: this.#server,
      path,
      authToken,
      allowedHostnames: hostnames,
      logger,
      ...limits,
    });
    const folder = this.#options.socket ? makePrivateFolder() : undefined;
    const socket = folder === undefined ? undefined : join(folder, "mcp.sock");
    try {
      const bound = await endpoint.listen(socket === undefined ? { host, port } : { path: socket });
      const scheme = transport === "websocket" ? "ws" : "http";
      const place = socket === undefined ? `${reachable(host)}:${String(bound)}` : "127.0.0.1";
      const capability = mcpCapability({ name, url: `${scheme}://${place}${path}`, authToken });
      const dial = socket === undefined ? {} : { dial: { path: socket } };
      return { endpoint, capability: { ...capability, ...dial }, folder };
    } catch (error) {
      await close(endpoint, folder);
      throw describe(error, this.name, `${host}:${String(port)}`);
    }
  }
}

function describe(error: unknown, name: string, address: string): unknown {
  if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") return error;
  return new EnvportError("address-in-use", `Cannot start ${name} as ${address} is in use`, { cause: error });
}

async function close(endpoint: Endpoint, folder: string | undefined): Promise<void> {
  await endpoint.close();
  if (folder !== undefined) removePrivateFolder(folder);
}

function isWildcard(host: string): boolean {
  return host === "0.0.0.0" || host === "::";
}

/** How a client of this machine calls the host that is listened on. */
function reachable(host: string): string {
  if (isWildcard(host)) return host === "::" ? "[::1]" : "127.0.0.1";
  return bracket(host);
}

function bracket(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
