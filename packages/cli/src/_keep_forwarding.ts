import type { Client } from "@envport/client";
import type { Capability } from "@envport/wire";
import { protocolFamily } from "@envport/wire";
import { hintFor, toPrintable } from "./_bindings.ts";
import { columns } from "./_describe_schema.ts";
import type { Output } from "./_output.ts";
import { SshFiles } from "./_ssh_files.ts";

/** Options of {@linkcode keepForwarding}. */
export interface KeepForwardingOptions {
  readonly output: Output;
  readonly signal: AbortSignal;
  readonly withSecrets: boolean;
  /** Whether only the address is printed, as of one binding. */
  readonly onlyAddress: boolean;
}

/**
 * Prints the local addresses of routed bindings and keeps them until a signal comes.
 *
 * @throws {EnvportError} `connection-lost` If the environment goes away.
 */
export async function keepForwarding(
  client: Client,
  bindings: readonly Capability[],
  { output, signal, withSecrets, onlyAddress }: KeepForwardingOptions,
): Promise<void> {
  const files = new Map<string, SshFiles>();
  try {
    for (const binding of bindings) {
      if (protocolFamily(binding.protocol) === "ssh") files.set(binding.name, new SshFiles(binding));
    }
    const values = bindings.map((binding) => {
      const ssh = files.get(binding.name);
      return { ...toPrintable(binding, withSecrets), ...(ssh ? { ssh: ssh.command } : {}) };
    });
    const text = onlyAddress
      ? bindings.map(({ url }) => url).join("\n")
      : columns(bindings.map(({ name, protocol, url }) => [name, protocol, url])).join("\n");
    output.result(text, onlyAddress ? values[0] : values);
    for (const binding of bindings) {
      const hint = files.get(binding.name)?.command.join(" ") ?? hintFor(binding);
      if (hint !== undefined) output.note(`(${binding.name}: ${hint})`);
    }
    output.note("(Ctrl-C ends this)");
    await untilSignal(client, signal);
  } finally {
    for (const one of files.values()) one[Symbol.dispose]();
  }
}

/**
 * Prints the local address of a forwarded control port and keeps it until a signal comes.
 *
 * @throws {EnvportError} `connection-lost` If the environment goes away.
 */
export async function keepForwardingControl(
  client: Client,
  url: string,
  { output, signal }: Pick<KeepForwardingOptions, "output" | "signal">,
): Promise<void> {
  output.result(url, { url });
  output.note("(Ctrl-C ends this)");
  await untilSignal(client, signal);
}

async function untilSignal(client: Client, signal: AbortSignal): Promise<void> {
  const stopped = new Promise<undefined>((resolve) => {
    if (signal.aborted) resolve(undefined);
    signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
  const lost = await Promise.race([client.closed, stopped]);
  if (lost) throw lost;
}
