import { randomUUID } from "node:crypto";
import type { Logger } from "@envport/wire";
import { Events } from "./_event_store.ts";
import { ServedSession } from "./_served_session.ts";
import type { ConnectableServer, ServerFactory } from "./mcp_service_options.ts";

/** What all sessions together may hold of what they have sent. */
const EVENT_LIMITS = { maxBytes: 64 * 1024 * 1024, maxStreams: 10_000 };

/** A session cannot begin; the text is for the client. */
export class NoRoomError extends Error {}

/** Options of {@linkcode Sessions}. */
export interface SessionsOptions {
  readonly server: ConnectableServer | ServerFactory;
  readonly ttl: number;
  readonly maxSessions: number;
  readonly logger: Logger;
}

/** Who is there: sessions over HTTP, which may be without a connection, and those that are one. */
export class Sessions {
  readonly events: Events = new Events(EVENT_LIMITS);
  readonly #options: SessionsOptions;
  /** Those that were used longest ago come first. */
  readonly #sessions = new Map<string, ServedSession>();
  /** Sessions that are a connection of their own. */
  readonly #connections = new Set<{ close(): Promise<void> }>();
  /** How many are being opened. */
  #opening = 0;

  constructor(options: SessionsOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#sessions.size + this.#connections.size;
  }

  /** Finds a session. */
  get(id: string): ServedSession | undefined {
    const session = this.#sessions.get(id);
    if (session) {
      this.#sessions.delete(id);
      this.#sessions.set(id, session);
    }
    return session;
  }

  /**
   * Opens a session over HTTP.
   *
   * @throws {NoRoomError} If there are too many.
   */
  async open(): Promise<ServedSession> {
    return await this.#admit(async (server) => {
      const session = await ServedSession.open(server, {
        id: randomUUID(),
        events: this.events,
        ttl: this.#options.ttl,
        onEnd: ({ id }) => this.#sessions.delete(id),
        onError: (error) => this.#log(error),
      });
      this.#sessions.set(session.id, session);
      return session;
    });
  }

  /**
   * Opens a session that is a connection.
   *
   * @param connect Connects the server; tells when the connection has closed.
   * @throws {NoRoomError} If there are too many.
   */
  async attach(
    connect: (server: ConnectableServer, onClose: () => void) => Promise<{ close(): Promise<void> }>,
  ): Promise<void> {
    await this.#admit(async (server) => {
      const state = { closed: false, connection: undefined as { close(): Promise<void> } | undefined };
      const onClose = (): void => {
        state.closed = true;
        if (state.connection) this.#connections.delete(state.connection);
        server.close().catch((error: unknown) => this.#log(error as Error));
      };
      state.connection = await connect(server, onClose);
      if (!state.closed) this.#connections.add(state.connection);
    });
  }

  /** Ends all of them. */
  async close(): Promise<void> {
    const all = [...this.#sessions.values(), ...this.#connections];
    await Promise.allSettled(all.map((session) => session.close()));
  }

  async #admit<T>(open: (server: ConnectableServer) => Promise<T>): Promise<T> {
    const { server } = this.#options;
    const max = typeof server === "function" ? this.#options.maxSessions : 1;
    if (this.size + this.#opening >= max) await this.#makeRoom();
    this.#opening++;
    try {
      return await open(typeof server === "function" ? await server() : server);
    } finally {
      this.#opening--;
    }
  }

  /** A session without a connection has to give way to somebody who is there. */
  async #makeRoom(): Promise<void> {
    const quiet = [...this.#sessions.values()].find((session) => session.isQuiet);
    if (quiet) await quiet.close();
    else
      throw new NoRoomError(
        typeof this.#options.server === "function"
          ? `Cannot open session as there must be at most ${String(this.#options.maxSessions)}`
          : "Cannot open session as this server takes one client at a time: pass mcpServer a function that makes a server for each session",
      );
  }

  #log(error: Error): void {
    this.#options.logger.log("debug", "MCP session", { error });
  }
}
