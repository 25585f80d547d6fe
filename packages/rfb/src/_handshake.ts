import { EnvportError } from "@envport/wire";
import type { ByteQueue, Parse } from "./_byte_queue.ts";
import { violation } from "./_violation.ts";
import { vncResponse } from "./_vnc_password.ts";

const NONE = 1;
const VNC = 2;
const TOO_MANY = 2;
const MAX_REASON = 1 << 16;
const MAX_NAME = 1 << 20;

/** What the handshake comes to. */
export interface ServerInit {
  readonly width: number;
  readonly height: number;
  readonly name: string;
}

/** What the handshake works with. */
export interface Handshake {
  readonly queue: ByteQueue;
  readonly password: string | undefined;
  readonly send: (data: Buffer) => void;
}

/**
 * From the server's greeting to its name (RFC 6143, 7.1 to 7.3).
 *
 * ```text
 * greeting ─▶ security types ─ none of ours ─▶ `unsupported`
 *                  └─ VNC password ─ refused ─▶ `authentication-failed`
 *                        └─ None ────▶ shared ─▶ size and name
 * ```
 */
export function* handshake(io: Handshake): Parse<ServerInit> {
  const minor = yield* greeting(io);
  const security = minor === 3 ? yield* dictatedSecurity(io) : yield* chosenSecurity(io);
  if (security === VNC) yield* answerChallenge(io);
  if (security === VNC || minor === 8) yield* securityResult(io, minor);
  io.send(Buffer.from([1]));
  const { queue } = io;
  if (queue.available < 24) yield 24;
  const [width, height] = [queue.u16(), queue.u16()];
  queue.offset += 16;
  const name = yield* text(queue, MAX_NAME);
  return { width, height, name };
}

/** 3.3, 3.7 and 3.8; whatever a server calls something newer is 3.8, as Apple's 3.889. */
function* greeting({ queue, send }: Handshake): Parse<number> {
  if (queue.available < 12) yield 12;
  const line = queue.view(12).toString("latin1");
  const [, major, version] = /^RFB (\d{3})\.(\d{3})\n$/.exec(line) ?? [];
  if (major === undefined || major < "003") throw violation("a server begins with RFB 003.00x", line);
  const minor = major > "003" ? 8 : Number(version) < 7 ? 3 : Number(version) === 7 ? 7 : 8;
  send(Buffer.from(`RFB 003.00${String(minor)}\n`));
  return minor;
}

function* dictatedSecurity({ queue, password }: Handshake): Parse<number> {
  if (queue.available < 4) yield 4;
  const type = queue.u32();
  if (type === 0) throw yield* refusal(queue);
  return choose([type], password);
}

function* chosenSecurity({ queue, password, send }: Handshake): Parse<number> {
  if (queue.available < 1) yield 1;
  const count = queue.u8();
  if (count === 0) throw yield* refusal(queue);
  if (queue.available < count) yield count;
  const chosen = choose([...queue.view(count)], password);
  send(Buffer.from([chosen]));
  return chosen;
}

const SECURITY_NAMES: Readonly<Record<number, string>> = {
  [NONE]: "None",
  [VNC]: "VNC password",
  5: "RA2",
  16: "Tight",
  18: "TLS",
  19: "VeNCrypt",
  20: "SASL",
  30: "Apple Remote Desktop",
  129: "RSA-AES",
};

function choose(offered: readonly number[], password: string | undefined): number {
  if (password !== undefined && offered.includes(VNC)) return VNC;
  if (offered.includes(NONE)) return NONE;
  if (offered.includes(VNC)) {
    throw new EnvportError(
      "authentication-failed",
      "Cannot log in as the VNC server asks for a password, and the binding has none",
    );
  }
  const names = offered.map((type) => `${SECURITY_NAMES[type] ?? "unknown"} (${String(type)})`).join(", ");
  throw new EnvportError(
    "unsupported",
    `Cannot log in as the VNC server must offer None or a VNC password, which a tunnel is enough for: current value is ${names}`,
  );
}

function* answerChallenge({ queue, password, send }: Handshake): Parse {
  if (queue.available < 16) yield 16;
  send(vncResponse(queue.view(16), password!));
}

function* securityResult({ queue }: Handshake, minor: number): Parse {
  if (queue.available < 4) yield 4;
  const result = queue.u32();
  if (result === 0) return;
  const reason =
    minor === 8
      ? yield* text(queue, MAX_REASON)
      : result === TOO_MANY
        ? "too many attempts"
        : "no reason given";
  throw new EnvportError(
    "authentication-failed",
    `Cannot log in as the VNC server refuses the password: ${reason}`,
  );
}

/** The server lets nobody in. */
function* refusal(queue: ByteQueue): Parse<EnvportError> {
  const reason = yield* text(queue, MAX_REASON);
  return new EnvportError(
    "authentication-failed",
    `Cannot log in as the VNC server refuses connections: ${reason}`,
  );
}

function* text(queue: ByteQueue, limit: number): Parse<string> {
  if (queue.available < 4) yield 4;
  const length = queue.u32();
  if (length > limit) throw violation(`a text of the handshake has at most ${String(limit)} bytes`, length);
  if (queue.available < length) yield length;
  return queue.view(length).toString("utf8");
}
