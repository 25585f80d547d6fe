import type { AbortOptions } from "@envport/wire";
import { EnvportError } from "@envport/wire";
import { setMaxListeners } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";
import ssh2 from "ssh2";
import type { Algorithms, Client, ConnectConfig, ServerHostKeyAlgorithm } from "ssh2";
import { privateKey } from "./_ssh_target.ts";
import type { SshTarget } from "./_ssh_target.ts";

/** A logged-in connection. */
export interface Connection {
  readonly client: Client;
  /** Aborts, with an {@linkcode EnvportError} as its reason, when the connection is gone. */
  readonly lost: AbortSignal;
  /** Says good-bye, and resolves when the socket is closed. */
  end(): Promise<void>;
}

/** Options of {@linkcode openConnection}. */
export interface OpenOptions extends AbortOptions {
  readyTimeout: number;
}

/** A dead link is noticed after a minute. */
const KEEPALIVE = { keepaliveInterval: 15_000, keepaliveCountMax: 4 };
/** How long a server may take to close the socket after our good-bye. */
const CLOSE_MS = 2_000;

/** AES-GCM first: the only cipher that Node does in one pass. */
const ALGORITHMS = {
  kex: [
    "curve25519-sha256",
    "curve25519-sha256@libssh.org",
    "ecdh-sha2-nistp256",
    "ecdh-sha2-nistp384",
    "ecdh-sha2-nistp521",
    "diffie-hellman-group16-sha512",
    "diffie-hellman-group14-sha256",
  ],
  cipher: [
    "aes128-gcm@openssh.com",
    "aes256-gcm@openssh.com",
    "aes128-ctr",
    "aes256-ctr",
    "chacha20-poly1305@openssh.com",
  ],
  hmac: ["hmac-sha2-256-etm@openssh.com", "hmac-sha2-512-etm@openssh.com", "hmac-sha2-256", "hmac-sha2-512"],
  compress: ["none"],
} satisfies Algorithms;

/**
 * Connects, checks the server's key, and logs in.
 *
 * ```text
 * dial ─▶ key exchange ─▶ host key ─ differs ─▶ closed, before any credential is sent
 *                            └─ equal ─▶ public-key login ─▶ ready
 * ```
 *
 * @param target Where to and as whom.
 * @param options The time allowed from the dial to the login.
 * @throws {EnvportError} `host-key-mismatch`, `authentication-failed`, `timeout` or `connection-lost`.
 */
export async function openConnection(target: SshTarget, options: OpenOptions): Promise<Connection> {
  const { signal, readyTimeout } = options;
  const key = await privateKey(target);
  signal?.throwIfAborted();
  const socket = connect({ host: target.host, port: target.port, noDelay: true, keepAlive: true });
  const client = new ssh2.Client();
  const lost = new AbortController();
  setMaxListeners(0, lost.signal);
  const closed = new Promise<void>((resolve) => socket.once("close", resolve));
  let failure: Error | undefined;
  // Registered before ssh2 does, so that whoever hears of an ended channel finds `lost` aborted already.
  socket.once("close", () => lost.abort(failure ?? gone(target)));
  let mismatch: EnvportError | undefined;
  const hostVerifier = (offered: Buffer): boolean => {
    if (!offered.equals(target.hostKey)) mismatch = keyMismatch(target, offered);
    return mismatch === undefined;
  };
  const abort = (): void => {
    socket.destroy();
  };
  signal?.addEventListener("abort", abort);
  try {
    await new Promise<void>((resolve, reject) => {
      client.on("error", (error: Error & { level?: string }) => {
        failure ??= mismatch ?? translate(error, target);
        reject(failure);
      });
      client.once("ready", resolve).once("close", () => reject(failure ?? gone(target)));
      login(client, { target, socket, readyTimeout, hostVerifier, privateKey: key });
    });
  } catch (error) {
    socket.destroy();
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", abort);
  }
  return { client, lost: lost.signal, end: () => end(client, socket, closed) };
}

interface Login {
  target: SshTarget;
  socket: Socket;
  readyTimeout: number;
  hostVerifier: (key: Buffer) => boolean;
  privateKey: string;
}

function login(client: Client, options: Login): void {
  const { target, socket, ...rest } = options;
  const { user: username, hostKeyType } = target;
  const config: ConnectConfig = {
    ...rest,
    ...KEEPALIVE,
    sock: socket,
    username,
    authHandler: ["publickey"],
    algorithms: { ...ALGORITHMS, serverHostKey: hostKeyAlgorithms(hostKeyType) },
  };
  try {
    client.connect(config);
  } catch (error) {
    client.emit("error", Object.assign(error as Error, { level: "client-authentication" }));
  }
}

/** Only the key that the binding names is asked for, since a server may hold several. */
function hostKeyAlgorithms(type: string): ServerHostKeyAlgorithm[] {
  return type === "ssh-rsa" ? ["rsa-sha2-512", "rsa-sha2-256"] : [type as ServerHostKeyAlgorithm];
}

async function end(client: Client, socket: Socket, closed: Promise<void>): Promise<void> {
  client.end();
  const timer = setTimeout(() => socket.destroy(), CLOSE_MS);
  await closed;
  clearTimeout(timer);
}

const address = ({ host, port }: SshTarget): string => `${host}:${String(port)}`;

function gone(target: SshTarget): EnvportError {
  return new EnvportError(
    "connection-lost",
    `Cannot go on as the SSH server at ${address(target)} closed the connection`,
  );
}

function keyMismatch(target: SshTarget, offered: Buffer): EnvportError {
  return new EnvportError(
    "host-key-mismatch",
    `Cannot trust the SSH server at ${address(target)} as its key must be that of the binding: current value is '${target.hostKeyType} ${offered.toString("base64")}'`,
  );
}

/** What ssh2 reports, in our words. */
function translate(error: Error & { level?: string }, target: SshTarget): EnvportError {
  const cause = { cause: error };
  const at = `the SSH server at ${address(target)}`;
  if (error.level === "client-authentication") {
    return new EnvportError(
      "authentication-failed",
      `Cannot log in as ${at} refuses the key of the binding`,
      cause,
    );
  }
  if (error.level === "client-timeout") {
    return new EnvportError("timeout", `Cannot go on as ${at} does not answer: ${error.message}`, cause);
  }
  if (error.level === "handshake" && /host key/i.test(error.message)) {
    return new EnvportError(
      "host-key-mismatch",
      `Cannot trust ${at} as it must have a key of the binding's type: current value is '${target.hostKeyType}'`,
      cause,
    );
  }
  return new EnvportError(
    "connection-lost",
    `Cannot go on as the connection to ${at} failed: ${error.message}`,
    cause,
  );
}
