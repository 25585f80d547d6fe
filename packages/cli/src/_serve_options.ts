import path from "node:path";
import type { ServeOptions } from "@envport/server";
import type { OptionSpec } from "./_command.ts";
import { readPem } from "./_connect_options.ts";
import { usage } from "./_failure.ts";
import type { Invocation } from "./_invocation.ts";

const DEFAULT_PORT = 8765;

/** The options of `envport serve` that say where, and to whom. */
export const SERVE_OPTIONS: readonly OptionSpec[] = [
  {
    name: "port",
    short: "p",
    value: "port",
    summary: `Port to listen on; 0 is any that is free [${String(DEFAULT_PORT)}]`,
  },
  { name: "host", value: "host", summary: "Address to listen on [127.0.0.1]" },
  {
    name: "listen",
    value: "url",
    repeat: true,
    summary:
      "In place of both: tcp://host:port, tls://…, ws://host:port/path, wss://… or unix:///path; again for more",
  },
  {
    name: "token-file",
    value: "file",
    repeat: true,
    files: "file",
    summary: "Only let those in who have the token in this file; they may do everything",
  },
  {
    name: "agent-token-file",
    value: "file",
    repeat: true,
    files: "file",
    summary: "The same, of those who may open bindings and nothing else",
  },
  {
    name: "tls-cert",
    value: "file",
    files: "file",
    summary: "The certificate for tls:// and wss://, in PEM form",
  },
  { name: "tls-key", value: "file", files: "file", summary: "Its key" },
  {
    name: "tls-ca",
    value: "file",
    files: "file",
    summary: "The authority that clients' certificates must come from",
  },
  {
    name: "insecure",
    summary: "Let everyone in who reaches an address that is not loopback: they can run tasks",
  },
];

/**
 * What the options say, for `serve`.
 *
 * @throws {Failure} `usage`
 */
export function readServeOptions(invocation: Invocation): ServeOptions {
  const listen = invocation.options("listen");
  const [host, port] = [
    invocation.option("host"),
    invocation.number("port", { integer: true, min: 0, max: 65_535 }),
  ];
  if (listen.length > 0 && (host !== undefined || port !== undefined)) {
    throw usage("Cannot use --listen and --host or --port together: --listen says the whole address");
  }
  const tokens = (name: string): { file: string }[] =>
    invocation.options(name).map((file) => ({ file: path.resolve(file) }));
  const [orchestrator, agent] = [tokens("token-file"), tokens("agent-token-file")];
  return {
    ...(listen.length > 0 ? { listen } : { host, port: port ?? DEFAULT_PORT }),
    insecure: invocation.flag("insecure"),
    tls: readTls(invocation),
    ...(orchestrator.length + agent.length > 0 ? { tokens: { orchestrator, agent } } : {}),
  };
}

function readTls(invocation: Invocation): ServeOptions["tls"] {
  const read = (name: string): string | undefined => {
    const file = invocation.option(name);
    return file === undefined ? undefined : readPem(name, file);
  };
  const [cert, key, ca] = [read("tls-cert"), read("tls-key"), read("tls-ca")];
  if (cert !== undefined && key !== undefined) return { cert, key, ca };
  if (cert === undefined && key === undefined && ca === undefined) return undefined;
  throw usage("Cannot serve with TLS as it takes --tls-cert and --tls-key, both");
}

/** The words of another `envport serve` with the same options, without its file and a fixed port. */
export function serveWords(invocation: Invocation): string[] {
  const valued = SERVE_OPTIONS.filter(({ name, value }) => value !== undefined && name !== "port");
  const values = valued.flatMap(({ name }) => invocation.options(name).map((value) => `--${name}=${value}`));
  const flags = ["insecure", "json", "verbose"].filter((name) => invocation.flag(name));
  return [...values, ...flags.map((name) => `--${name}`)];
}
