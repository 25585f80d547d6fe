import { EnvportError, SOCKET_OPTIONS } from "@envport/wire";
import type { AbortOptions, DialTarget } from "@envport/wire";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import type { AuthContext, Connection, ParsedKey, Server, ServerConfig } from "ssh2";
import { forwardPort } from "./_forward_port.ts";
import { connectionInternals, ssh2 } from "./_ssh2.ts";
import { provesKey } from "./_ssh_keys.ts";
import type { WorkspaceKeys } from "./_ssh_keys.ts";
import { SshSession } from "./_ssh_session.ts";
import type { SessionHost } from "./_ssh_session.ts";

/** From the connection to the login. */
const LOGIN_GRACE_MS = 20_000;
const MAX_LOGIN_TRIES = 6;
const MAX_CONNECTIONS = 64;
/** Sessions and forwarded ports of one connection at a time. */
const MAX_CHANNELS = 256;
/** How long clients may take to go when the daemon stops. */
const CLOSE_MS = 500;

/**
 * The lists without anything that ssh-audit fails. OpenSSH's name in the banner makes its client say when its own
 * standard output was closed, without which `ssh host yes | head` would never end.
 */
const CONFIG: Pick<ServerConfig, "algorithms" | "ident" | "keepaliveInterval" | "keepaliveCountMax"> = {
  ident: "OpenSSH_9.9 envport",
  keepaliveInterval: 15_000,
  keepaliveCountMax: 4,
  algorithms: {
    kex: [
      "curve25519-sha256",
      "curve25519-sha256@libssh.org",
      "diffie-hellman-group16-sha512",
      "diffie-hellman-group14-sha256",
    ],
    cipher: [
      "aes128-gcm@openssh.com",
      "aes256-gcm@openssh.com",
      "chacha20-poly1305@openssh.com",
      "aes256-ctr",
      "aes128-ctr",
    ],
    hmac: ["hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com"],
    compress: ["none"],
  },
};

/** What the daemon serves. */
export interface SshDaemonOptions extends SessionHost {
  readonly user: string;
  readonly keys: WorkspaceKeys;
}

/**
 * The SSH server of a workspace: public-key logins of one user, sessions, SFTP, and ports of the sandbox's own
 * loopback. Forwarding to the client's side, agents and X11 are refused.
 *
 * ```text
 * connected ── 20 s or 6 tries ──▶ closed
 *     └── login ──▶ sessions, at most 256 at a time
 * ```
 */
export class SshDaemon {
  readonly #options: SshDaemonOptions;
  readonly #listener = createServer({ ...SOCKET_OPTIONS, allowHalfOpen: false });
  readonly #server: Server;
  /** Every open connection, with the timer of its login. */
  readonly #sockets = new Map<Socket, NodeJS.Timeout>();

  /** @param options Whom to let in, and where sessions run. */
  constructor(options: SshDaemonOptions) {
    this.#options = options;
    this.#server = new (ssh2().Server)({ ...CONFIG, hostKeys: [options.keys.host] }, (connection) =>
      this.#serve(connection),
    );
    this.#server.on("error", (error: unknown) => options.log("SSH server", error));
    this.#listener.maxConnections = MAX_CONNECTIONS;
    this.#listener.on("connection", (socket) => this.#accept(socket));
  }

  /**
   * Listens.
   *
   * @param target A socket path, or host and port; port 0 is any.
   * @returns The port, if it is one.
   * @throws {EnvportError} `address-in-use` or `service-failed`
   */
  async listen(target: DialTarget, { signal }: AbortOptions = {}): Promise<number | undefined> {
    signal?.throwIfAborted();
    this.#listener.listen({ ...target, backlog: 4096 });
    try {
      await once(this.#listener, "listening", { signal });
    } catch (error) {
      signal?.throwIfAborted();
      const inUse = (error as NodeJS.ErrnoException).code === "EADDRINUSE";
      const at = "path" in target ? target.path : `${target.host}:${String(target.port)}`;
      throw new EnvportError(
        inUse ? "address-in-use" : "service-failed",
        `Cannot serve workspace as its address must be free to listen on: current value is '${at}'`,
        { cause: error },
      );
    }
    this.#listener.on("error", (error) => this.#options.log("SSH listener", error));
    const address = this.#listener.address() as AddressInfo | string;
    return typeof address === "string" ? undefined : address.port;
  }

  /** Stops listening and ends every connection. */
  async close(): Promise<void> {
    const closed = new Promise<void>((resolve) => this.#listener.close(() => resolve()));
    for (const socket of this.#sockets.keys()) socket.end();
    const timer = setTimeout(() => this.#sockets.forEach((_, socket) => socket.destroy()), CLOSE_MS);
    await closed;
    clearTimeout(timer);
  }

  /** ssh2 tells of a connection only after its banner; the time to log in starts here. */
  #accept(socket: Socket): void {
    const timer = setTimeout(() => socket.destroy(), LOGIN_GRACE_MS);
    this.#sockets.set(socket, timer);
    socket.setMaxListeners(0); // each channel may wait for room
    socket.on("error", () => undefined);
    socket.once("close", () => {
      clearTimeout(timer);
      this.#sockets.delete(socket);
    });
    this.#server.injectSocket(socket);
  }

  #serve(connection: Connection): void {
    const { _sock: socket } = connectionInternals(connection);
    connection.on("error", () => undefined); // bad packets and resets are the client's affair
    let tries = 0;
    connection.on("authentication", (context) => {
      if (context.method !== "none" && ++tries > MAX_LOGIN_TRIES) connection.end();
      else this.#authenticate(context, this.#options.keys.authorized);
    });
    connection.once("ready", () => {
      clearTimeout(this.#sockets.get(socket));
      this.#serveChannels(connection);
    });
  }

  #authenticate(context: AuthContext, authorized: readonly ParsedKey[]): void {
    if (provesKey(context, authorized) && context.username === this.#options.user) context.accept();
    else context.reject(["publickey"]);
  }

  #serveChannels(connection: Connection): void {
    let channels = 0;
    const take = (): boolean => ++channels <= MAX_CHANNELS || (channels--, false);
    const release = (): void => {
      channels--;
    };
    const sessions = new WeakMap<object, SshSession>();
    connection.on("session", (accept, reject) => {
      if (!take()) {
        reject();
        return;
      }
      const session = accept();
      session.once("close", release);
      sessions.set(session, new SshSession(session, this.#options));
    });
    connection.on("tcpip", (accept, reject, { destIP, destPort }) => {
      if (!take()) {
        reject();
        return;
      }
      void forwardPort({ accept, reject, host: destIP, port: destPort }, this.#options).then(release);
    });
    onEndOfWrite(connection, (session) => sessions.get(session)?.endOutput());
  }
}

/** ssh2 does not know `eow@openssh.com`. */
function onEndOfWrite(connection: Connection, ended: (session: object) => void): void {
  const { _chanMgr: channels, _protocol: protocol } = connectionInternals(connection);
  const { CHANNEL_REQUEST: original } = protocol._handlers;
  protocol._handlers.CHANNEL_REQUEST = (from, recipient, type, wantReply, data) => {
    if (type !== "eow@openssh.com") {
      original(from, recipient, type, wantReply, data);
      return;
    }
    const session = channels.get(recipient);
    if (typeof session === "object" && session !== null) ended(session);
  };
}
