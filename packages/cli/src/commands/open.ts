import { protocolFamily } from "@envport/wire";
import type { Client } from "@envport/client";
import { SECRETS_OPTION } from "../_bindings.ts";
import type { Command } from "../_command.ts";
import { exitCodeOf } from "../_exit_code_of.ts";
import { keepForwarding } from "../_keep_forwarding.ts";
import { CONNECT_OPTIONS } from "../_connect_options.ts";
import { servedTarget } from "../_target.ts";
import { hasTerminal, joinTerminal, terminalSize } from "../_terminal.ts";

/** `envport open` */
export const openCommand: Command = {
  path: "open",
  summary: "Open one binding: a shell in the sandbox, or the address for a viewer",
  details:
    "An ssh binding becomes a terminal in the sandbox when this is a terminal, and the command ends as that shell does. Of every other binding, and in a pipe or with --address, the local address is printed and kept until Ctrl-C.",
  arguments: [
    { name: "url", summary: "Where the environment is served" },
    { name: "binding", summary: "Its name, protocol, or the protocol's family" },
  ],
  options: [
    { name: "address", summary: "Print the address of an ssh binding, too" },
    SECRETS_OPTION,
    ...CONNECT_OPTIONS,
  ],
  examples: [
    ["open 127.0.0.1:8765 shell", "A shell where the agent works"],
    ["open 127.0.0.1:8765 screen", "The address for a VNC viewer"],
    ["open 127.0.0.1:8765 shell --address", "The address, and a command line for OpenSSH"],
  ],
  async run(invocation, context) {
    const { output, signal } = context;
    await using client = await servedTarget(invocation.argument("url"), invocation, context).connect();
    const binding = client.binding(invocation.argument("binding"));
    const isShell = protocolFamily(binding.protocol) === "ssh";
    if (isShell && hasTerminal() && !output.json && !invocation.flag("address")) {
      return await openShell(client, binding.name, signal);
    }
    const withSecrets = invocation.flag("secrets");
    await keepForwarding(client, [binding], { output, signal, withSecrets, onlyAddress: true });
    return 0;
  },
};

async function openShell(client: Client, name: string, signal: AbortSignal): Promise<number> {
  const { ssh } = await import("@envport/ssh");
  const shell = await client.open(ssh, name, { signal });
  const remote = await shell.shell({ ...terminalSize(), signal });
  return exitCodeOf(await joinTerminal(remote));
}
