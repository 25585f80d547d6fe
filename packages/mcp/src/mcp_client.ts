import { EventEmitter } from "node:events";
import type {
  CallToolResult,
  Client,
  GetPromptResult,
  Implementation,
  Notification,
  Prompt,
  ReadResourceResult,
  RequestOptions,
  Resource,
  ResourceTemplateType,
  ServerCapabilities,
  Tool,
} from "@modelcontextprotocol/client";
import type { Capability, CapabilityClient } from "@envport/wire";
import { EnvportError, unlessAborted } from "@envport/wire";
import { ClientSession } from "./_client_session.ts";
import { explain, saysForgotten } from "./_explain.ts";
import type { McpTarget } from "./_mcp_target.ts";
import { mcpTarget } from "./_mcp_target.ts";
import type { CallToolOptions, McpConnectOptions, McpRequestOptions } from "./mcp_client_options.ts";

const TIMEOUT_MS = 300_000;

/** What a client tells without being asked. */
export interface McpClientEvents {
  /** The server told something that no handler of `.client` takes: a list has changed, a log message. */
  notification: [notification: Notification];
  /** A lost session was replaced; the server has forgotten what the old one had, such as subscriptions. */
  session: [client: Client];
}

/**
 * A client of an MCP server: what is called through it survives a server that forgets its sessions.
 *
 * ```text
 * connected ── the server forgets the session ─▶ the call that learns of it goes through a new one; others finish in the old
 *     ├─────── the connection is lost ─▶ what was under way fails with `connection-lost`, and is never sent again
 *     │                                    └─ the next call ─▶ connected, in a new session
 *     └── close() ─▶ closed
 * ```
 *
 * @example
 * ```ts no-run
 * import { connect } from "@envport/client";
 * import { mcp } from "@envport/mcp";
 *
 * await using client = await connect("tcp://127.0.0.1:8765");
 * const tools = await client.open(mcp);
 * for (const { name, description } of await tools.listTools()) console.log(name, description);
 * const { content } = await tools.callTool("add", { a: 2, b: 3 });
 * ```
 */
export class McpClient extends EventEmitter<McpClientEvents> implements CapabilityClient, AsyncDisposable {
  readonly #target: McpTarget;
  readonly #options: McpConnectOptions;
  #session!: ClientSession;
  #opening: Promise<ClientSession> | undefined;
  #closing: Promise<void> | undefined;

  private constructor(target: McpTarget, options: McpConnectOptions) {
    super();
    this.#target = target;
    this.#options = options;
  }

  /**
   * Connects and opens a session.
   *
   * @param capability A binding, its url one that can be dialled from here.
   * @param options The time allowed, and what the server may ask of this side.
   * @throws {EnvportError} `authentication-failed`, `connection-lost`, `timeout`, `unsupported` (no MCP server is there),
   *   `invalid-value`
   */
  static async connect(capability: Capability, options: McpConnectOptions = {}): Promise<McpClient> {
    const { signal, ...rest } = options;
    const client = new McpClient(mcpTarget(capability, options.authority), rest);
    client.#session = await client.#open(signal);
    return client;
  }

  /** The client of `@modelcontextprotocol/client` of the session of now, for all that is not here. */
  get client(): Client {
    return this.#session.client;
  }

  /** Name and version of the server. */
  get server(): Implementation | undefined {
    return this.client.getServerVersion();
  }

  /** What the server offers. */
  get capabilities(): ServerCapabilities {
    return this.client.getServerCapabilities() ?? {};
  }

  /** How the server wants to be used, for the model to read. */
  get instructions(): string | undefined {
    return this.client.getInstructions();
  }

  /**
   * Lists the tools, all pages of them.
   *
   * @throws {ProtocolError} What the server answers; so do the methods below.
   * @throws {EnvportError} `connection-lost`, `timeout`, `closed`; so do the methods below.
   */
  async listTools(options: McpRequestOptions = {}): Promise<Tool[]> {
    return await this.#run("list tools", options, async (client, o) =>
      offers(client, "tools") ? (await client.listTools({}, o)).tools : [],
    );
  }

  /**
   * Calls a tool.
   *
   * @param name One of `listTools`.
   * @param args Its arguments.
   * @param options Time-outs, progress; the signal tells the server to cancel.
   * @returns Its content; with `isError` if the tool ran and failed, for the model to read.
   * @throws {ProtocolError} If there is no such tool, or its structured content is not what the tool promised.
   * @throws {EnvportError} `connection-lost` If the connection broke while it ran; it is not called again.
   */
  async callTool(
    name: string,
    args: Record<string, unknown> = {},
    options: CallToolOptions = {},
  ): Promise<CallToolResult> {
    const { onProgress, meta } = options;
    const params = { name, arguments: args, ...(meta === undefined ? {} : { _meta: meta }) };
    return await this.#run(`call tool '${name}'`, options, (client, o) =>
      client.callTool(params, { ...o, ...(onProgress ? { onprogress: onProgress } : {}) }),
    );
  }

  /** Lists the resources, all pages of them. */
  async listResources(options: McpRequestOptions = {}): Promise<Resource[]> {
    return await this.#run("list resources", options, async (client, o) =>
      offers(client, "resources") ? (await client.listResources({}, o)).resources : [],
    );
  }

  /** Lists the patterns of resources that are made on demand, all pages of them. */
  async listResourceTemplates(options: McpRequestOptions = {}): Promise<ResourceTemplateType[]> {
    return await this.#run("list resource templates", options, async (client, o) =>
      offers(client, "resources") ? (await client.listResourceTemplates({}, o)).resourceTemplates : [],
    );
  }

  /**
   * Reads a resource.
   *
   * @param uri One of `listResources`, or one that a template makes.
   */
  async readResource(uri: string, options: McpRequestOptions = {}): Promise<ReadResourceResult["contents"]> {
    return await this.#run(
      `read resource '${uri}'`,
      options,
      async (client, o) => (await client.readResource({ uri }, o)).contents,
    );
  }

  /** Lists the prompts, all pages of them. */
  async listPrompts(options: McpRequestOptions = {}): Promise<Prompt[]> {
    return await this.#run("list prompts", options, async (client, o) =>
      offers(client, "prompts") ? (await client.listPrompts({}, o)).prompts : [],
    );
  }

  /**
   * Gets a prompt, filled in.
   *
   * @param name One of `listPrompts`.
   * @param args Its arguments.
   */
  async getPrompt(
    name: string,
    args: Record<string, string> = {},
    options: McpRequestOptions = {},
  ): Promise<GetPromptResult> {
    return await this.#run(`get prompt '${name}'`, options, (client, o) =>
      client.getPrompt({ name, arguments: args }, o),
    );
  }

  /** Asks whether the server is there. */
  async ping(options: McpRequestOptions = {}): Promise<void> {
    await this.#run("ping", options, (client, o) => client.ping(o));
  }

  /** Ends the session, in the server too; what is under way fails. Idempotent. */
  close(): Promise<void> {
    return (this.#closing ??= this.#close());
  }

  /** The same as `close`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    await this.#session.close();
    const late = await this.#opening?.catch(() => undefined);
    await late?.close();
  }

  /** Makes a request; one that the server refuses because it has forgotten the session is made again, in a new one. */
  async #run<T>(
    act: string,
    { signal, timeout = TIMEOUT_MS, maxTotalTimeout }: McpRequestOptions,
    request: (client: Client, options: RequestOptions) => Promise<T>,
  ): Promise<T> {
    const options: RequestOptions = {
      timeout,
      resetTimeoutOnProgress: true,
      onprogress: () => undefined,
      ...(signal ? { signal } : {}),
      ...(maxTotalTimeout === undefined ? {} : { maxTotalTimeout }),
    };
    // Many calls may share a signal; each takes its listeners away again.
    if (signal) EventEmitter.setMaxListeners(0, signal);
    try {
      const session = await this.#current(signal);
      try {
        return await session.run((client) => request(client, options));
      } catch (error) {
        if (!session.canBeForgotten || !saysForgotten(error) || this.#closing) throw error;
        const next = await unlessAborted(this.#replace(session), signal);
        return await next.run((client) => request(client, options));
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (this.#closing) throw closed();
      throw explain(error, act);
    }
  }

  /** The session of now, or a new one if it is over. */
  async #current(signal: AbortSignal | undefined): Promise<ClientSession> {
    signal?.throwIfAborted();
    if (this.#closing) throw closed();
    if (!this.#session.over) return this.#session;
    return await unlessAborted(this.#replace(this.#session), signal);
  }

  /** All who find that a session is no good get the same new one. */
  #replace(old: ClientSession): Promise<ClientSession> {
    if (this.#session !== old) return Promise.resolve(this.#session);
    this.#opening ??= this.#open(undefined)
      .then((session) => {
        this.#session = session;
        old.retire();
        this.emit("session", session.client);
        return session;
      })
      .finally(() => (this.#opening = undefined));
    return this.#opening;
  }

  async #open(signal: AbortSignal | undefined): Promise<ClientSession> {
    try {
      return await ClientSession.open(this.#target, {
        ...this.#options,
        signal,
        onNotification: ({ method, params }) =>
          this.emit("notification", params === undefined ? { method } : { method, params }),
      });
    } catch (error) {
      signal?.throwIfAborted();
      throw explain(error, `connect to MCP server '${this.#target.name}'`);
    }
  }
}

/** Asking for what a server does not offer would be answered with a line on standard output. */
function offers(client: Client, what: keyof ServerCapabilities): boolean {
  return client.getServerCapabilities()?.[what] !== undefined;
}

function closed(): EnvportError {
  return new EnvportError("closed", "Cannot go on as the MCP client was closed");
}
