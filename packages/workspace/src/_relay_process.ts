import type { SandboxProcess } from "@envport/sandbox";
import { constants } from "node:os";
import type { Readable } from "node:stream";
import type { ServerChannel } from "ssh2";
import { ChannelWriter } from "./_channel_writer.ts";
import { onClosed } from "./_ssh2.ts";

/** The signals that SSH has names for (RFC 4254, section 6.10). */
const SIGNALS: ReadonlySet<string> = new Set(
  ["ABRT", "ALRM", "FPE", "HUP", "ILL", "INT", "KILL", "PIPE", "QUIT", "SEGV", "TERM", "USR1", "USR2"].map(
    (name) => `SIG${name}`,
  ),
);

/**
 * Connects a process with the channel of its session until both are done.
 *
 * ```text
 * running ── exits ─▶ the rest of its output ─▶ status, end of file, close
 *    └── the client closes the channel, or goes ─▶ the process group is killed
 * ```
 *
 * @param process Freshly started.
 * @param channel Its session's channel.
 */
export async function relayProcess(process: SandboxProcess, channel: ServerChannel): Promise<void> {
  const writer = new ChannelWriter(channel);
  const closed = new AbortController();
  onClosed(channel, () => {
    closed.abort();
    process.kill();
    channel.resume();
  });
  relayInput(channel, process);
  const outputs = [relayOutput(process.stdout, writer, false)];
  if (process.stderr) outputs.push(relayOutput(process.stderr, writer, true));
  const { code, signal } = await process.exit;
  await Promise.all(outputs);
  await writer.drained();
  if (closed.signal.aborted) return; // a lost connection takes no more packets
  if (signal === null) channel.exit(code ?? 255);
  else if (SIGNALS.has(signal)) channel.exit(signal.slice(3), false, "");
  else channel.exit(128 + constants.signals[signal]); // what a shell would report
  channel.end();
}

/** Tells why a session has no process, in one line, and ends it. */
export async function refuseSession(channel: ServerChannel, reason: string): Promise<void> {
  const writer = new ChannelWriter(channel);
  writer.write(Buffer.from(`workspace: cannot start the session: ${reason}\n`), true, () => undefined);
  await writer.drained();
  channel.exit(1);
  channel.end();
}

function relayInput(channel: ServerChannel, { stdin }: SandboxProcess): void {
  channel.on("data", (chunk: Buffer) => {
    if (stdin.destroyed || stdin.write(chunk)) return;
    channel.pause();
    const resume = (): void => {
      stdin.off("drain", resume).off("close", resume);
      channel.resume();
    };
    stdin.on("drain", resume).on("close", resume);
  });
  channel.once("end", () => stdin.end());
  stdin.on("error", () => undefined); // a command need not read its input
}

/** Reads only what the client takes. */
async function relayOutput(output: Readable, writer: ChannelWriter, toStderr: boolean): Promise<void> {
  const resume = (): void => void output.resume();
  output.on("data", (chunk: Buffer) => {
    if (!writer.write(chunk, toStderr, resume)) output.pause();
  });
  await new Promise<void>((resolve) => {
    output
      .once("end", resolve)
      .once("close", resolve)
      .once("error", () => resolve());
  });
}
