import { forwardControlPort } from "@envport/client";
import { SECRETS_OPTION } from "../_bindings.ts";
import type { Command } from "../_command.ts";
import { usage } from "../_failure.ts";
import { keepForwarding, keepForwardingControl } from "../_keep_forwarding.ts";
import { CONNECT_OPTIONS } from "../_connect_options.ts";
import { servedTarget } from "../_target.ts";

/** `envport forward` */
export const forwardCommand: Command = {
  path: "forward",
  summary: "Give bindings local addresses until Ctrl-C",
  details:
    "Prints a line for each binding: name, protocol and the address to use from here; for ssh, standard error has a command line for OpenSSH. With --control-port it is the control port itself that gets a local address, for clients that know neither its transport nor its token; everyone on this machine is let in there. It ends with exit code 0 on Ctrl-C or SIGTERM, with 3 when the environment goes away.",
  arguments: [
    { name: "url", summary: "Where the environment is served" },
    { name: "binding", optional: true, many: true, summary: "Names, protocols or their families [all]" },
  ],
  options: [
    {
      name: "control-port",
      value: "port",
      summary: "Forward the control port instead, to this local port; 0 is any",
    },
    SECRETS_OPTION,
    ...CONNECT_OPTIONS,
  ],
  examples: [
    ["forward tcp://127.0.0.1:8765", "All of them"],
    ["forward 127.0.0.1:8765 shell tools", "Two of them"],
    ["forward tls://env.example --control-port 8765 --token-file token", "A plain control port for hud"],
    ["forward 127.0.0.1:8765 --json", "One line of JSON: an array of bindings"],
  ],
  async run(invocation, context) {
    const { output, signal } = context;
    const target = servedTarget(invocation.argument("url"), invocation, context);
    await using client = await target.connect();
    const controlPort = invocation.number("control-port", { min: 0, max: 65_535 });
    if (controlPort !== undefined) {
      const options = { ...target.options, port: controlPort, logger: output };
      await using forward = await forwardControlPort(client.url, options);
      await keepForwardingControl(client, forward.url, { output, signal });
      return 0;
    }
    const names = invocation.manyArguments("binding");
    const chosen = names.length > 0 ? names : client.bindings.map(({ name }) => name);
    if (chosen.length === 0) throw usage("Cannot forward anything as the environment has no bindings");
    const bindings = [...new Set(chosen)].map((name) => client.binding(name));
    const withSecrets = invocation.flag("secrets");
    await keepForwarding(client, bindings, { output, signal, withSecrets, onlyAddress: false });
    return 0;
  },
};
