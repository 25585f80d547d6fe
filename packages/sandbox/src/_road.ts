import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { networkInterfaces } from "node:os";
import type { Duplex, Readable } from "node:stream";
import { DEFAULT_PATH } from "./default_path.ts";
import { SPECIAL_4 } from "./_public_address.ts";

/** Where names are asked for inside: pasta takes the question to the host's own name server. */
export const NAME_SERVER = "169.254.1.1";
/** pasta's device in the router; its address and its gateway's are seen by nobody else. */
const PASTA = { device: "tap0", address: "169.254.2.2", network: "169.254.2.0/24", gateway: "169.254.2.1" };
/** The cable between the router and the sandbox. */
const LINK = { router: "169.254.3.1/30", gateway: "169.254.3.1", sandbox: "169.254.3.2/30", mtu: "65520" };
const PROGRAMS = ["pasta", "ip", "unshare", "setpriv"];
const OPEN_TIMEOUT_MS = 10_000;
const MAX_WORDS = 2048;

/** There is no road on this machine; the message is the rest of a sentence that begins with "as". */
export class RoadError extends Error {}

/** How a sandbox is given its road. */
export interface RoadPlan {
  /** Words before bubblewrap's, with which it starts at the road's end; the descriptor `fd` speaks with this process. */
  readonly words: readonly string[];
  /** pasta's words. */
  readonly pasta: (router: number) => string[];
}

/** A road that is open. */
export interface Road {
  /** Resolves with the reason once pasta has ended; it does so when the sandbox does. */
  readonly closed: Promise<string>;
}

/**
 * Runs in the router and puts its table up: everywhere but to the ranges in `$2`. The table is out of the sandbox's reach,
 * so that nothing a socket can ask for there (a device, a source route, multicast) leads around it.
 */
const ROUTER = `
set -eu
echo $$ >&"$3"
until [ -n "$(ip -4 route show default dev ${PASTA.device} 2>/dev/null)" ]; do
  read -r -t 0.02 -u "$3" _ || [ $? -gt 128 ]
done
ip link add road mtu ${LINK.mtu} type veth peer name eth0 mtu ${LINK.mtu} netns "$1"
{
  echo route replace default via ${PASTA.gateway} dev ${PASTA.device} onlink
  echo route del ${PASTA.network} dev ${PASTA.device}
  printf 'route replace unreachable %s\\n' $2
  echo route add ${NAME_SERVER} dev ${PASTA.device} table 53
  echo rule add to ${NAME_SERVER} ipproto udp dport 53 lookup 53
  echo address add ${LINK.router} dev road
  echo link set road up
} | ip -batch -
for file in /proc/sys/net/ipv4/conf/*/rp_filter; do echo 0 > "$file"; done
echo 0 > /proc/sys/net/ipv4/icmp_ratelimit
echo 1 > /proc/sys/net/ipv4/ip_forward
`;

/** Runs in the sandbox's network namespace, and becomes what its words say. */
const SANDBOX = `
set -eu
unshare --net -- bash --norc --noprofile -c "$0" router $$ "$1" "$2"
ip -batch - << END
link set lo up
address add ${LINK.sandbox} dev eth0
link set eth0 up
route add default via ${LINK.gateway}
END
echo open >&"$2"
eval "exec $2>&-"
shift 2
exec "$@"
`;

/**
 * Runs pasta, with the namespace's file as its input, until it ends or this process does: then the input of bash ends. No
 * signal of the kernel's has to arrive for that, at whatever moment it happens.
 */
const KEEPER = `
exec 3<&0
"$@" <"$0" 3<&- &
pasta=$!
(read -r _ <&3; kill -KILL $pasta) &
wait $pasta
code=$?
kill -KILL $!
exit $code`;

/** What this machine lacks for a road; undefined where it has everything. */
export function roadObstacle(): string | undefined {
  const missing = PROGRAMS.find((name) => !DEFAULT_PATH.split(":").some((folder) => isProgram(folder, name)));
  return missing === undefined ? undefined : `${missing} is not installed`;
}

/**
 * A road to public IPv4 addresses and to nothing else, by [pasta](https://passt.top): it has the host do what a program
 * in the sandbox asks of TCP and UDP.
 *
 * ```text
 * sandbox ── eth0 ═ road ── router ── tap0 ═ pasta ── the host's network
 *            the sandbox's namespace   a namespace that nothing inside can enter; its table refuses
 *                                      private ranges, and this machine's own addresses
 * ```
 *
 * As root, both namespaces are the host's root's; as an ordinary user they are in a user namespace that is left before
 * bubblewrap starts.
 *
 * @param fd The descriptor that the words speak with this process by.
 */
export function planRoad(fd: number): RoadPlan {
  const isRoot = process.getuid?.() === 0;
  const unshare = isRoot ? [] : ["--user", "--map-current-user", "--keep-caps"];
  const shell = [
    "bash",
    "--norc",
    "--noprofile",
    "-c",
    SANDBOX,
    ROUTER,
    refusedRanges().join(" "),
    String(fd),
  ];
  return {
    words: [
      ...["unshare", ...unshare, "--net", "--", ...shell],
      ...(isRoot ? [] : ["setpriv", "--inh-caps=-all", "--ambient-caps=-all", "--"]),
    ],
    pasta: (router) => [
      ...["pasta", "--foreground", "--quiet", "--ipv4-only", "--config-net", "--no-map-gw"],
      ...["--tcp-ports", "none", "--udp-ports", "none", "--tcp-ns", "none", "--udp-ns", "none"],
      ...["--ns-ifname", PASTA.device, "--address", PASTA.address, "--netmask", "24"],
      ...["--gateway", PASTA.gateway, "--dns-forward", NAME_SERVER],
      // A root without all its rights may not look up another process's namespaces, but has this one as its input.
      ...(isRoot
        ? ["--netns-only", "--runas", "0:0", "--no-netns-quit", "--netns", "/proc/self/fd/0"]
        : [String(router)]),
    ],
  };
}

/** Special ranges, and whatever public addresses this machine has itself. */
function refusedRanges(): string[] {
  const own = Object.values(networkInterfaces()).flatMap((addresses = []) =>
    addresses.filter(({ family }) => family === "IPv4").map(({ address }) => `${address}/32`),
  );
  return [...new Set([...SPECIAL_4.map(([address, prefix]) => `${address}/${String(prefix)}`), ...own])];
}

/**
 * Attaches pasta to the router and waits until the sandbox is at the road's end.
 *
 * @param child What was started with the plan's words; its end is the road's.
 * @param pipe Its descriptor.
 * @param complaints What it wrote to stderr so far.
 * @throws {RoadError} If it does not open.
 */
export async function openRoad(
  plan: RoadPlan,
  child: ChildProcess,
  pipe: Duplex,
  complaints: () => string,
): Promise<Road> {
  const lines = readLines(pipe);
  const failed = new Promise<never>((_, reject) => {
    const fail = (why: string): void => reject(new RoadError(lastLine(complaints()) ?? why));
    child.once("exit", () => fail("its namespaces cannot be made"));
    setTimeout(() => fail("it did not open in time"), OPEN_TIMEOUT_MS).unref();
  });
  failed.catch(() => {});
  const router = Number(await Promise.race([lines(), failed]));
  const { keeper, closed } = startPasta(plan, router);
  if (child.exitCode !== null || child.signalCode !== null) keeper.stdin!.end();
  child.once("exit", () => keeper.stdin!.end());
  const refused = closed.then((why) => Promise.reject(new RoadError(why)));
  refused.catch(() => {});
  try {
    await Promise.race([lines(), failed, refused]);
  } catch (error) {
    keeper.stdin!.end();
    throw error;
  }
  return { closed };
}

function startPasta(plan: RoadPlan, router: number): { keeper: ChildProcess; closed: Promise<string> } {
  const words = ["--norc", "--noprofile", "-c", KEEPER, `/proc/${String(router)}/ns/net`];
  const keeper = spawn("bash", [...words, ...plan.pasta(router)], {
    cwd: "/",
    env: { PATH: DEFAULT_PATH },
    stdio: ["pipe", "ignore", "pipe"],
  });
  let said = "";
  keeper.stdin.on("error", () => {});
  keeper.stderr.setEncoding("utf8").on("data", (text: string) => (said = (said + text).slice(-MAX_WORDS)));
  const closed = new Promise<string>((resolve) => {
    keeper.once("error", (error) => resolve(error.message));
    keeper.once("close", () => resolve(`pasta ended: ${lastLine(said) ?? "it says nothing"}`));
  });
  return { keeper, closed };
}

/** The next line each time; never, once the stream has ended. */
function readLines(stream: Readable): () => Promise<string> {
  let text = "";
  return () =>
    new Promise((resolve) => {
      const take = (chunk: string): void => {
        text += chunk;
        const end = text.indexOf("\n");
        if (end === -1) return;
        stream.off("data", take);
        resolve(text.slice(0, end));
        text = text.slice(end + 1);
      };
      stream.setEncoding("utf8").on("data", take);
      take("");
    });
}

/** pasta also complains that it has no system log, which is of no interest. */
function lastLine(words: string): string | undefined {
  return words
    .split("\n")
    .filter((line) => line.trim() !== "" && !/to syslog$|^Don't run as root/.test(line))
    .at(-1);
}

function isProgram(folder: string, name: string): boolean {
  try {
    accessSync(`${folder}/${name}`, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
