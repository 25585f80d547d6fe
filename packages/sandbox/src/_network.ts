import { existsSync, lstatSync } from "node:fs";
import { connect } from "node:net";
import type { Duplex } from "node:stream";
import { isWithin } from "./bwrap_argv.ts";
import { EgressProxy } from "./_egress_proxy.ts";
import { HostList, hostName } from "./host_list.ts";
import type { Mount } from "./mount.ts";
import type { Namespace } from "./_namespace.ts";
import type { Peer } from "./peer.ts";
import type { SandboxOptions } from "./sandbox_options.ts";
import type { SandboxNetwork } from "./sandbox_report.ts";

/** Where the proxy listens inside. */
export const PROXY_PORT = 3128;
const RESERVED_NAMES = ["localhost", "workspace"];
const DIAL_TIMEOUT_MS = 10_000;

/** What a sandbox reaches, decided. */
export interface NetworkPlan {
  /** Stays in the host's network namespace. */
  readonly share: boolean;
  readonly proxy: EgressProxy | undefined;
  readonly peers: readonly Peer[];
  /** Variables for every command, so that programs find the proxy. */
  readonly env: Readonly<Record<string, string>>;
  readonly report: SandboxNetwork;
  readonly warnings: readonly string[];
}

/**
 * Decides what a sandbox reaches.
 *
 * @throws {TypeError} If options contradict each other, or a host or peer is malformed.
 */
export function planNetwork({ network = "none", allowedHosts, peers = [] }: SandboxOptions): NetworkPlan {
  if (network === "shared") {
    if (allowedHosts !== undefined || peers.length > 0) {
      throw new TypeError(
        'Cannot share the host\'s network as allowedHosts and peers need one of its own: current value is "shared"',
      );
    }
    const warning =
      "the sandbox is in the host's network: it reaches every service of this machine, the control port included";
    return {
      share: true,
      proxy: undefined,
      peers: [],
      env: {},
      report: { mode: "shared" },
      warnings: [warning],
    };
  }
  const hosts = allowedHosts ?? (network === "outbound" ? ["*"] : []);
  const proxy = hosts.length === 0 ? undefined : new EgressProxy({ hosts: new HostList(hosts) });
  checkPeers(peers, proxy !== undefined);
  const names = peers.map(({ name }) => name);
  return {
    share: false,
    proxy,
    peers,
    env: proxy === undefined ? {} : proxyVariables(names),
    report: {
      mode: proxy === undefined ? "none" : "proxy",
      ...(proxy !== undefined && { allowedHosts: hosts }),
      ...(names.length > 0 && { peers: names }),
    },
    warnings:
      network === "outbound" && allowedHosts === undefined
        ? [
            "outbound access is HTTP and HTTPS through a proxy: programs have to heed http_proxy and https_proxy",
          ]
        : [],
  };
}

/** Opens the sandbox's ways out: listeners inside whose connections end in this process. */
export async function openNetwork(namespace: Namespace, { proxy, peers }: NetworkPlan): Promise<void> {
  await Promise.all([
    ...(proxy === undefined ? [] : [namespace.listen("proxy", PROXY_PORT, (stream) => proxy.accept(stream))]),
    ...peers.map(({ name, port, target }) =>
      namespace.listen(`peer ${name}`, port, (stream) => dialPeer(stream, target)),
    ),
  ]);
}

/** The text of `/etc/hosts` inside; undefined where the mounts have no place for it. */
export function hostsFile({ share, peers }: NetworkPlan, mounts: readonly Mount[]): string | undefined {
  if (share) return undefined;
  const path = "/etc/hosts";
  const cover = mounts.findLast(({ dst }) => isWithin(path, dst));
  if (cover !== undefined) {
    const source = `${cover.src}${path.slice(cover.dst.length)}`;
    if (cover.kind !== "ro" || !existsSync(source) || !lstatSync(source).isFile()) return undefined;
  }
  const lines = [
    "127.0.0.1 localhost workspace",
    "::1 localhost",
    ...peers.map(({ name }) => `127.0.0.1 ${name}`),
  ];
  return `${lines.join("\n")}\n`;
}

function proxyVariables(peers: readonly string[]): Record<string, string> {
  const url = `http://127.0.0.1:${String(PROXY_PORT)}`;
  const direct = ["localhost", "127.0.0.1", "::1", ...peers].join(",");
  return {
    http_proxy: url,
    https_proxy: url,
    HTTP_PROXY: url,
    HTTPS_PROXY: url,
    no_proxy: direct,
    NO_PROXY: direct,
    NODE_USE_ENV_PROXY: "1",
  };
}

function checkPeers(peers: readonly Peer[], proxied: boolean): void {
  const ports = new Set<number>(proxied ? [PROXY_PORT] : []);
  const names = new Set<string>(RESERVED_NAMES);
  for (const { name, port } of peers) {
    if (hostName(name) !== name || names.has(name)) {
      throw new TypeError(
        `Cannot name a peer as its name is no lower-case host name of its own: current value is "${name}"`,
      );
    }
    if (!Number.isInteger(port) || port < 1024 || port > 65_535 || ports.has(port)) {
      throw new RangeError(
        `Cannot place a peer as its port is not from 1024 to 65535 and its own: current value is "${String(port)}"`,
      );
    }
    names.add(name);
    ports.add(port);
  }
}

function dialPeer(stream: Duplex, target: Peer["target"]): void {
  const options =
    "path" in target ? { path: target.path } : { host: target.host ?? "127.0.0.1", port: target.port };
  const socket = connect({ ...options, allowHalfOpen: true, timeout: DIAL_TIMEOUT_MS });
  socket.once("timeout", () => socket.destroy(new Error("the peer did not answer")));
  socket.once("connect", () => socket.setTimeout(0));
  stream.on("error", () => socket.destroy());
  socket.on("error", (error) => stream.destroy(error));
  stream.once("close", () => socket.destroy());
  stream.pipe(socket);
  socket.pipe(stream);
}
