import { SECRETS_OPTION } from "../_bindings.ts";
import type { Command } from "../_command.ts";
import { usage } from "../_failure.ts";
import { keepForwarding } from "../_keep_forwarding.ts";
import { CONNECT_OPTIONS } from "../_connect_options.ts";
import { servedTarget } from "../_target.ts";

/** `envport forward` */
export const forwardCommand: Command = {
  path: "forward",
  summary: "Give bindings local addresses until Ctrl-C",
  details:
    "Prints a line for each binding: name, protocol and the address to use from here; for ssh, standard error has a command line for OpenSSH. It ends with exit code 0 on Ctrl-C or SIGTERM, with 3 when the environment goes away.",
  arguments: [
    { name: "url", summary: "Where the environment is served" },
    { name: "binding", optional: true, many: true, summary: "Names, protocols or their families [all]" },
  ],
  options: [SECRETS_OPTION, ...CONNECT_OPTIONS],
  examples: [
    ["forward tcp://127.0.0.1:8765", "All of them"],
    ["forward 127.0.0.1:8765 shell tools", "Two of them"],
    ["forward 127.0.0.1:8765 --json", "One line of JSON: an array of bindings"],
  ],
  async run(invocation, context) {
    const { output, signal } = context;
    await using client = await servedTarget(invocation.argument("url"), invocation, context).connect();
    const names = invocation.manyArguments("binding");
    const chosen = names.length > 0 ? names : client.bindings.map(({ name }) => name);
    if (chosen.length === 0) throw usage("Cannot forward anything as the environment has no bindings");
    const bindings = [...new Set(chosen)].map((name) => client.binding(name));
    const withSecrets = invocation.flag("secrets");
    await keepForwarding(client, bindings, { output, signal, withSecrets, onlyAddress: false });
    return 0;
  },
};
