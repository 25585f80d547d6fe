import type { Duplex } from "node:stream";
import type { AcceptConnection, RejectConnection, ServerChannel } from "ssh2";
import { ChannelWriter } from "./_channel_writer.ts";
import { onClosed } from "./_ssh2.ts";
import type { SessionHost } from "./_ssh_session.ts";

/** The names of the sandbox's own loopback; nothing else is reached. */
const LOOPBACK: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "::1"]);

/** A client's wish to reach a port. */
export interface ForwardRequest {
  readonly accept: AcceptConnection<ServerChannel>;
  readonly reject: RejectConnection;
  readonly host: string;
  readonly port: number;
}

/**
 * Connects a channel with a port inside the sandbox, until both directions have ended.
 *
 * @param request What the client asks for (`ssh -L`, `ssh -W`).
 * @param host The workspace.
 */
export async function forwardPort(request: ForwardRequest, host: SessionHost): Promise<void> {
  if (!LOOPBACK.has(request.host.toLowerCase())) {
    request.reject();
    return;
  }
  let stream: Duplex;
  try {
    stream = await host.runner.connect(request.port);
  } catch {
    request.reject();
    return;
  }
  const channel = request.accept() as ServerChannel | undefined;
  if (!channel) {
    stream.destroy();
    return;
  }
  await relay(channel, stream);
}

async function relay(channel: ServerChannel, stream: Duplex): Promise<void> {
  const writer = new ChannelWriter(channel);
  const gone = new AbortController();
  const closed = new Promise<void>((resolve) =>
    onClosed(channel, () => {
      gone.abort();
      resolve();
    }),
  );
  const drained = async (then: () => void): Promise<void> => {
    await writer.drained();
    if (!gone.signal.aborted) then(); // a lost connection takes no more packets
  };
  channel.on("error", () => undefined);
  stream.on("error", () => undefined);
  channel.on("data", (chunk: Buffer) => {
    if (stream.destroyed || stream.write(chunk)) return;
    channel.pause();
    const resume = (): void => {
      stream.off("drain", resume).off("close", resume);
      channel.resume();
    };
    stream.on("drain", resume).on("close", resume);
  });
  channel.once("end", () => stream.end());
  const more = (): void => void stream.resume();
  stream.on("data", (chunk: Buffer) => {
    if (!writer.write(chunk, false, more)) stream.pause();
  });
  stream.once("end", () => void drained(() => channel.eof()));
  stream.once("close", () => void drained(() => channel.close()));
  await closed;
  stream.destroy();
}
