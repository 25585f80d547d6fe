import { lstatSync, readlinkSync } from "node:fs";
import { connect } from "node:net";
import { dirname, resolve } from "node:path";
import type { Duplex } from "node:stream";
import { isWithin } from "./bwrap_argv.ts";
import { EgressProxy } from "./_egress_proxy.ts";
import { HostList, hostName } from "./host_list.ts";
import type { Mount } from "./mount.ts";
import type { Namespace } from "./_namespace.ts";
import type { Peer } from "./peer.ts";
import { NAME_SERVER, roadObstacle } from "./_road.ts";
import type { SandboxOptions } from "./sandbox_options.ts";
import type { SandboxNetwork } from "./sandbox_report.ts";

/** Where the proxy listens inside. */
export const PROXY_PORT = 3128;
const RESOLVER_FILE = "/etc/resolv.conf";
const RESERVED_NAMES = ["localhost", "workspace"];
const DIAL_TIMEOUT_MS = 10_000;

/** What a sandbox reaches, decided. */
export interface NetworkPlan {
  /** Stays in the host's network namespace. */
  readonly share: boolean;
  /** Whether it has a road of its own to public hosts. */
  readonly road: boolean;
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
 * @param options What was asked for.
 * @param obstacle Why there is no road to public hosts; undefined looks whether there may be one.
 * @throws {TypeError} If options contradict each other, or a host or peer is malformed.
 */
export function planNetwork(
  { network = "none", allowedHosts, peers = [] }: SandboxOptions,
  obstacle?: string,
): NetworkPlan {
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
      road: false,
      proxy: undefined,
      peers: [],
      env: {},
      report: { mode: "shared" },
      warnings: [warning],
    };
  }
  const wantsRoad = network === "outbound" && allowedHosts === undefined;
  const noRoad = wantsRoad ? (obstacle ?? roadObstacle()) : undefined;
  const road = wantsRoad && noRoad === undefined;
  const hosts = allowedHosts ?? (noRoad === undefined ? [] : ["*"]);
  const proxy = hosts.length === 0 ? undefined : new EgressProxy({ hosts: new HostList(hosts) });
  checkPeers(peers, proxy !== undefined);
  const names = peers.map(({ name }) => name);
  return {
    share: false,
    road,
    proxy,
    peers,
    env: proxy === undefined ? {} : proxyVariables(names),
    report: {
      mode: road ? "outbound" : proxy === undefined ? "none" : "proxy",
      ...(proxy !== undefined && { allowedHosts: hosts }),
      ...(names.length > 0 && { peers: names }),
    },
    warnings:
      noRoad === undefined
        ? []
        : [
            "outbound access is HTTP and HTTPS alone, through a proxy that programs find by http_proxy and https_proxy, " +
              `as there is no other way here: ${noRoad}`,
          ],
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

/** Files about names, as far as the mounts have a place for them. */
export function networkFiles(
  { share, road, peers }: NetworkPlan,
  mounts: readonly Mount[],
): { dst: string; text: string }[] {
  if (share) return [];
  const hosts = [
    "127.0.0.1 localhost workspace",
    "::1 localhost",
    ...peers.map(({ name }) => `127.0.0.1 ${name}`),
  ];
  const files = [
    { path: "/etc/hosts", text: `${hosts.join("\n")}\n` },
    ...(road ? [{ path: RESOLVER_FILE, text: `nameserver ${NAME_SERVER}\n` }] : []),
  ];
  return files.flatMap(({ path, text }) => {
    const dst = placeOf(path, mounts);
    return dst === undefined ? [] : [{ dst, text }];
  });
}

/** What the mounts make of the road: without a place for the name server's file, it knows addresses alone. */
export function nameWarnings({ road }: NetworkPlan, mounts: readonly Mount[]): string[] {
  return road && placeOf(RESOLVER_FILE, mounts) === undefined
    ? [`names of public hosts are not found inside, as the mounts have no place for ${RESOLVER_FILE}`]
    : [];
}

/** Where a file can be put so that it is found at a path: there, or where the mounted link leads. */
function placeOf(path: string, mounts: readonly Mount[], links = 8): string | undefined {
  const cover = mounts.findLast(({ dst }) => isWithin(path, dst));
  if (cover === undefined) return path;
  if (cover.kind !== "ro") return undefined;
  const source = `${cover.src}${path.slice(cover.dst.length)}`;
  const found = lstatSync(source, { throwIfNoEntry: false });
  if (found?.isSymbolicLink() === true && links > 0) {
    return placeOf(resolve(dirname(path), readlinkSync(source)), mounts, links - 1);
  }
  return found?.isFile() === true ? path : undefined;
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
