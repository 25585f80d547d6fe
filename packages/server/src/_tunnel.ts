import net from "node:net";
import type { ByteStream, FramedStream, PublishedCapability, RequestMessage, Splice } from "@envport/wire";
import {
  ErrorCode,
  ProtocolError,
  SOCKET_OPTIONS,
  encodeFrame,
  linger,
  own,
  parseCapabilityUrl,
  refuse,
  splice,
} from "@envport/wire";
import { publicError } from "./_public_error.ts";
import type { Environment } from "./environment.ts";
import type { Logger } from "./logger.ts";

/** What a tunnel needs from its server. */
export interface TunnelOptions {
  /** In milliseconds (TUN-5). */
  dialTimeout: number;
  /** In milliseconds (TUN-3). */
  halfCloseTimeout: number;
  /** Which capabilities may be opened (SESS-10). */
  mayReach(this: void, capability: PublishedCapability): boolean;
  /** Called with each tunnel that has been opened. */
  onOpen(this: void, capability: string, tunnel: Splice): void;
  logger: Logger;
}

/**
 * Serves a connection whose first frame is `tunnel.open`: dials the daemon behind a published binding, answers once,
 * and pipes bytes until both directions have ended (TUN-1 to TUN-6).
 *
 * @param framed The connection; what was read behind its first line belongs to the stream.
 * @param request The first frame.
 * @param env What is served.
 * @param options Time-outs, counters and the log.
 * @param signal Ends the tunnel at once.
 */
export async function serveTunnel(
  framed: FramedStream,
  request: RequestMessage,
  env: Environment,
  options: TunnelOptions,
  signal: AbortSignal,
): Promise<void> {
  let capability: PublishedCapability;
  let daemon: ByteStream;
  try {
    capability = findCapability(env, own(request.params, "capability"), options);
    daemon = await dial(capability, options.dialTimeout, AbortSignal.any([framed.lost, signal]));
  } catch (error) {
    const refusal = publicError(error);
    options.logger.log("warn", "a tunnel was refused", { reason: refusal.message, error });
    if (request.id !== undefined) await refuse(framed, refusal, request.id);
    else await linger(framed);
    return;
  }
  if (request.id !== undefined) {
    framed.stream.write(encodeFrame({ id: request.id, result: { capability: capability.name } }));
  }
  const client = framed.release();
  const spliced = splice(client, daemon, { halfCloseTimeout: options.halfCloseTimeout });
  const abort = (): void => spliced.abort();
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  options.onOpen(capability.name, spliced);
  await spliced.closed;
  signal.removeEventListener("abort", abort);
}

/** The published capability of a name, if its daemon can be dialled (TUN-2). */
function findCapability(env: Environment, name: unknown, { mayReach }: TunnelOptions): PublishedCapability {
  if (typeof name !== "string") {
    throw new ProtocolError(ErrorCode.invalidParams, "tunnel.open: 'capability' must be a string");
  }
  const capability = env.capabilities.find((candidate) => candidate.name === name && mayReach(candidate));
  if (!capability) {
    throw new ProtocolError(ErrorCode.serverError, `unknown capability: '${name}'`, {
      type: "unknown-capability",
    });
  }
  const reason = env.downReason(name);
  if (reason !== undefined) throw dialFailed(`capability '${name}' is down: ${reason}`);
  return capability;
}

async function dial(
  capability: PublishedCapability,
  timeout: number,
  signal: AbortSignal,
): Promise<ByteStream> {
  const { name } = capability;
  const socket = net.connect({ ...target(capability), ...SOCKET_OPTIONS });
  // Nothing may read before the splice does, or a greeting would be lost; an error is no news once it has connected.
  socket.pause().on("error", () => {});
  const giveUp = (): void => void socket.destroy();
  const timer = setTimeout(() => socket.destroy(new Error("connect timeout")), timeout);
  signal.addEventListener("abort", giveUp, { once: true });
  if (signal.aborted) giveUp();
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once("connect", resolve).once("error", reject);
      socket.once("close", () => {
        reject(new Error("the connection that asked for it is gone"));
      });
    });
    return socket;
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? (error as Error).message;
    throw dialFailed(`cannot reach capability '${name}': ${why}`, error);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", giveUp);
  }
}

function target({ name, url, dial }: PublishedCapability): { path: string } | { host: string; port: number } {
  if (dial) return dial;
  const { host, port } = parseCapabilityUrl(url);
  if (port === undefined) {
    throw new ProtocolError(
      ErrorCode.invalidParams,
      `capability '${name}' has no host and port to tunnel to`,
    );
  }
  return { host, port };
}

function dialFailed(message: string, cause?: unknown): ProtocolError {
  const error = new ProtocolError(ErrorCode.serverError, message, { type: "dial-failed" });
  error.cause = cause;
  return error;
}
