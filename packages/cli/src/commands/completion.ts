import type { Command } from "../_command.ts";
import type { Shell } from "../_completion.ts";
import { SHELLS, completionScript } from "../_completion.ts";
import { usage } from "../_failure.ts";

/** `envport completion` */
export const completionCommand: Command = {
  path: "completion",
  summary: "Print a script that completes envport's words in a shell",
  arguments: [{ name: "shell", words: SHELLS, summary: SHELLS.join(", ") }],
  options: [],
  examples: [
    ["completion bash >> ~/.bashrc", "For bash; or for one session: source <(envport completion bash)"],
    ["completion zsh > ~/.zfunc/_envport", "For zsh, in a folder of its fpath"],
    ["completion fish > ~/.config/fish/completions/envport.fish", "For fish"],
  ],
  run(invocation, { output, commands }) {
    const shell = invocation.argument("shell");
    if (!isShell(shell)) {
      throw usage(`Cannot complete in ${JSON.stringify(shell)} as it must be ${SHELLS.join(", ")}`);
    }
    const script = completionScript(shell, commands);
    output.result(script.trimEnd(), { shell, script });
    return Promise.resolve(0);
  },
};

function isShell(text: string): text is Shell {
  return (SHELLS as readonly string[]).includes(text);
}
