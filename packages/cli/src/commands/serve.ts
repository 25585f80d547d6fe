import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import type { Environment, ServeOptions } from "@envport/server";
import type { Command } from "../_command.ts";
import { usage } from "../_failure.ts";
import { findEnvironment } from "../_find_environment.ts";
import type { Invocation } from "../_invocation.ts";
import { loadModule } from "../_load_module.ts";
import type { ModuleRef } from "../_module_ref.ts";
import { parseModuleRef } from "../_module_ref.ts";
import type { Output } from "../_output.ts";
import { supervisor } from "../_supervised.ts";
import { serveWatched } from "../_watch.ts";

const DEFAULT_PORT = 8765;

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
    {
      name: "port",
      short: "p",
      value: "port",
      summary: `Port to listen on; 0 is any that is free [${String(DEFAULT_PORT)}]`,
    },
    { name: "host", value: "host", summary: "Address to listen on [127.0.0.1]" },
    {
      name: "insecure",
      summary: "Let everyone in who reaches a --host that is not loopback: they can run tasks",
    },
    {
      name: "watch",
      short: "w",
      summary: "Start again, on the same port, when a file of the environment changes",
    },
  ],
  examples: [
    ["serve env.ts", "Serve on port 8765"],
    ["serve env.ts --watch", "The same while writing it"],
    ["serve envs.ts:coder --port 0", "One of several exports, on any port"],
    ["serve --host 0.0.0.0 --insecure", "env.ts of this folder, in a container that is shielded otherwise"],
  ],
  handlesSignals: true,
  async run(invocation, { output }) {
    const ref = parseModuleRef(invocation.optionalArgument("file[:name]") ?? ".", "env");
    const port = invocation.number("port", { integer: true, min: 0, max: 65_535 }) ?? DEFAULT_PORT;
    const options = { host: invocation.option("host"), port, insecure: invocation.flag("insecure") };
    if (invocation.flag("watch"))
      return await serveWatched({ ref, port, words: wordsOf(invocation) }, output);
    await serveHere(ref, options, output);
    // From here on signals decide.
    return await new Promise<never>(() => undefined);
  },
};

/** The words that a watched process gets, without file and port. */
function wordsOf(invocation: Invocation): string[] {
  const host = invocation.option("host");
  const flags = ["insecure", "json", "verbose"]
    .filter((name) => invocation.flag(name))
    .map((name) => `--${name}`);
  return [...(host === undefined ? [] : ["--host", host]), ...flags];
}

async function serveHere(ref: ModuleRef, options: ServeOptions, output: Output): Promise<void> {
  const parent = supervisor();
  output.claimStdout();
  process.chdir(path.dirname(ref.file));
  const module = await loadModule(ref, { onFile: (file) => parent?.tell({ type: "file", file }) });
  const env = findEnvironment(module, ref);
  const { serve } = await serverOf(ref.file);
  try {
    const server = await serve(env, { ...options, signals: true, logger: output });
    const summary = describe(env, server.url);
    if (parent) {
      parent.tell({ type: "listening", url: server.url, summary });
      return;
    }
    output.line(`HUD_SERVE_PORT=${String(server.port)}`);
    output.note(summary);
  } catch (error) {
    if (!(error instanceof TypeError) || options.host === undefined || options.insecure) throw error;
    throw usage(
      `Cannot serve on host '${options.host}' without --insecure, as everyone who reaches it could run tasks: leave --host away, or say --insecure in a container that is shielded otherwise`,
    );
  }
}

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
function describe(env: Environment, url: string): string {
  const tasks = [...env.templates.keys()];
  const bindings = env.capabilities.map(({ name, protocol }) => `${name} (${protocol})`);
  return `${env.name} ${env.version} is served at ${url}
  tasks     ${tasks.join(", ") || "none"}
  bindings  ${bindings.join(", ") || "none"}`;
}
