import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Environment, ServeOptions } from "@envport/server";
import type { Command } from "../_command.ts";
import { usage } from "../_failure.ts";
import { findEnvironment } from "../_find_environment.ts";
import { loadModule } from "../_load_module.ts";
import type { ModuleRef } from "../_module_ref.ts";
import { parseModuleRef } from "../_module_ref.ts";
import type { Output } from "../_output.ts";
import { SERVE_OPTIONS, readServeOptions, serveWords } from "../_serve_options.ts";
import { supervisor } from "../_supervised.ts";
import { serveWatched } from "../_watch.ts";

/** `envport serve` */
export const serveCommand: Command = {
  path: "serve",
  summary: "Serve the environment that a module exports",
  details:
    "The module, TypeScript or JavaScript, exports an Environment: by default, or by the name behind the colon. Relative folders of its workspaces are beside it. Once everything is up, standard output says HUD_SERVE_PORT=<port> and nothing else, whatever the module prints. Ctrl-C or SIGTERM stops it in good order with exit code 0, a second one at once with 143.",
  arguments: [
    {
      name: "file[:name]",
      optional: true,
      files: "file",
      summary: "The module; a folder means its env.ts or env.js [.]",
    },
  ],
  options: [
    ...SERVE_OPTIONS,
    {
      name: "watch",
      short: "w",
      summary: "Start again, on the same --port, when a file of the environment changes",
    },
  ],
  examples: [
    ["serve env.ts", "Serve on port 8765"],
    ["serve env.ts --watch", "The same while writing it"],
    ["serve envs.ts:coder --port 0", "One of several exports, on any port"],
    ["serve --host 0.0.0.0 --insecure", "env.ts of this folder, in a container that is shielded otherwise"],
    ["serve env.ts --listen unix:///run/env.sock", "On a socket instead of a port"],
    ["serve --host 0.0.0.0 --token-file token.txt", "For those who have the token"],
  ],
  handlesSignals: true,
  async run(invocation, { output }) {
    const ref = parseModuleRef(invocation.optionalArgument("file[:name]") ?? ".", "env");
    const options = readServeOptions(invocation);
    const { port } = options;
    if (invocation.flag("watch"))
      return await serveWatched({ ref, port, words: serveWords(invocation) }, output);
    await serveHere(ref, options, output);
    // From here on signals decide.
    return await new Promise<never>(() => undefined);
  },
};

async function serveHere(ref: ModuleRef, options: ServeOptions, output: Output): Promise<void> {
  const parent = supervisor();
  output.claimStdout();
  process.chdir(path.dirname(ref.file));
  const module = await loadModule(ref, { onFile: (file) => parent?.tell({ type: "file", file }) });
  const env = findEnvironment(module, ref);
  const { serve } = await serverOf(ref.file);
  try {
    const server = await serve(env, { ...options, signals: true, logger: output });
    const { port, urls } = server;
    const summary = describe(env, urls);
    if (parent) {
      parent.tell({ type: "listening", url: server.url, port, summary });
      return;
    }
    output.line(`HUD_SERVE_PORT=${String(port)}`);
    output.note(summary);
  } catch (error) {
    if (!(error instanceof TypeError)) throw error;
    throw usage(error.message.replace(/: bind 127\.0\.0\.1, set tokens, .*/, REMEDY));
  }
}

/** What to do about an address that everyone reaches, in words of the command line. */
const REMEDY =
  ": say 127.0.0.1, --token-file, or --tls-ca with tls:// or wss://; or --insecure in a container that is shielded otherwise";

/** The server that stands beside the environment, so that both are of one version; else our own. */
async function serverOf(file: string): Promise<typeof import("@envport/server")> {
  try {
    const found = createRequire(file).resolve("@envport/server");
    return (await import(pathToFileURL(found).href)) as typeof import("@envport/server");
  } catch {
    return await import("@envport/server");
  }
}

/** What is served where, for people. */
function describe(env: Environment, urls: readonly string[]): string {
  const tasks = [...env.templates.keys()];
  const bindings = env.capabilities.map(({ name, protocol }) => `${name} (${protocol})`);
  return `${env.name} ${env.version} is served at ${urls.join(", ")}
  tasks     ${tasks.join(", ") || "none"}
  bindings  ${bindings.join(", ") || "none"}`;
}
