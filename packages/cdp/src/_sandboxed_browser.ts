import { spawn } from "node:child_process";
import { chmodSync, chownSync, lstatSync, mkdirSync, realpathSync, renameSync } from "node:fs";
import type { Server } from "node:net";
import { connect, createServer } from "node:net";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import type { Duplex } from "node:stream";
import { SERVICE_FOLDER, Sandbox, bwrapCommand } from "@envport/sandbox";
import type { Mount } from "@envport/sandbox";
import { BRIDGE } from "./_bridge.ts";
import type { BridgeOrder, BridgeReport } from "./_bridge.ts";
import { browserFlags } from "./_browser_flags.ts";
import type { StartRequest } from "./_host_browser.ts";
import type { PlacedPeer } from "./_peers.ts";
import { collectComplaints } from "./_running_browser.ts";
import type { RunningBrowser } from "./_running_browser.ts";

/** Where things are inside. */
const HOME = "/home/browser";
const ROADS = "/run/roads";
/** The port that the sandbox's proxy has in the network of a sandbox. */
const PROXY_PORT = 3128;

/** What starts a browser in a sandbox. */
export interface SandboxedStartRequest extends Omit<StartRequest, "proxyPort" | "peers"> {
  /** A folder of ours that holds the browser's own. */
  readonly folder: string;
  readonly allowedHosts: readonly string[] | undefined;
  readonly peers: readonly PlacedPeer[];
  /** Is given what has to be ended when the browser has. */
  readonly opened: (resource: AsyncDisposable) => void;
}

/**
 * Starts a browser in a bubblewrap of its own. Chromium keeps its own sandbox inside: it may make user namespaces, which
 * a `Sandbox` does not let commands do.
 *
 * ```text
 * tunnel ── socket in our folder ── bridge ── 127.0.0.1:port of the browser
 * peer or proxy, in this process ── sockets in roads/ ── bridge ── 127.0.0.1:port of a road
 *                                                        └── the browser's network namespace
 * ```
 */
export async function startInSandbox(request: SandboxedStartRequest): Promise<RunningBrowser> {
  const { folder, home, executablePath, allowedHosts, started } = request;
  const roads = await openRoads(request);
  const order: BridgeOrder = {
    argv: [
      executablePath,
      ...browserFlags({
        ...request,
        profile: `${HOME}/profile`,
        proxyPort: allowedHosts === undefined ? undefined : PROXY_PORT,
      }),
    ],
    portFile: `${HOME}/profile/DevToolsActivePort`,
    socket: `${HOME}/devtools.sock`,
    roads,
  };
  const options = {
    root: home,
    guestPath: HOME,
    mounts: [
      ...programMount(executablePath),
      { kind: "ro", src: join(folder, "roads"), dst: ROADS } as const,
    ],
    env: { PATH: "/usr/local/bin:/usr/bin:/bin", HOME, LANG: process.env["LANG"] ?? "C.UTF-8" },
  };
  const argv = [`${SERVICE_FOLDER}/bin/node`, "-e", BRIDGE, JSON.stringify(order)];
  const [program = "", ...words] = bwrapCommand(options, { argv }).filter(
    (word) => word !== "--disable-userns",
  );
  const child = spawn(program, words, {
    cwd: "/",
    env: {},
    stdio: ["ignore", "pipe", "pipe"],
    detached: true,
  });
  const complaints = collectComplaints(child);
  started({ child, complaints });
  for await (const line of createInterface(child.stdout)) {
    child.stdout.resume();
    const { port } = JSON.parse(line) as BridgeReport;
    return { child, port, dial: { path: takeSocket(home, folder) }, complaints };
  }
  return await new Promise(() => undefined);
}

/**
 * Moves the socket out of the folder that the browser can write: nothing inside can put another one, or a link, in its
 * place.
 */
function takeSocket(home: string, folder: string): string {
  const path = join(folder, "devtools.sock");
  renameSync(join(home, "devtools.sock"), path);
  if (!lstatSync(path).isSocket()) throw new Error("the bridge's socket is none");
  chownSync(path, process.getuid!(), process.getgid!());
  chmodSync(path, 0o600);
  return path;
}

/** A browser that is not among the system's programs. */
function programMount(executablePath: string): Mount[] {
  const found = [executablePath, realpathSync(executablePath)].map((path) => dirname(path));
  const folders = [...new Set(found)].filter((path) => !/^\/(?:usr|bin|etc)(?:\/|$)/.test(path));
  return folders.map((path) => ({ kind: "ro", src: path, dst: path }));
}

async function openRoads(request: SandboxedStartRequest): Promise<{ port: number; path: string }[]> {
  const { folder, allowedHosts, peers } = request;
  mkdirSync(join(folder, "roads"), { mode: 0o755 });
  const roads = peers.map(({ port, target }) => ({
    port,
    dial: (): Promise<Duplex> => Promise.resolve(connect({ ...target, allowHalfOpen: true })),
  }));
  if (allowedHosts !== undefined)
    roads.push({ port: PROXY_PORT, dial: await openProxy(request, allowedHosts) });
  return await Promise.all(
    roads.map(async ({ port, dial }) => {
      const name = `${String(port)}.sock`;
      const path = join(folder, "roads", name);
      const server = createServer({ allowHalfOpen: true }, (near) => void carry(near, dial));
      await new Promise<void>((resolve, reject) => server.once("error", reject).listen(path, resolve));
      chmodSync(path, 0o666);
      request.opened({ [Symbol.asyncDispose]: () => closeServer(server) });
      return { port, path: `${ROADS}/${name}` };
    }),
  );
}

/** The proxy with the allow-list is that of a sandbox, in which nothing else runs. */
async function openProxy(
  { folder, opened }: SandboxedStartRequest,
  allowedHosts: readonly string[],
): Promise<() => Promise<Duplex>> {
  const root = join(folder, "proxy");
  mkdirSync(root);
  const sandbox = new Sandbox({ root, allowedHosts });
  opened(sandbox);
  await sandbox.start();
  return () => sandbox.connect(PROXY_PORT);
}

async function carry(near: Duplex, dial: () => Promise<Duplex>): Promise<void> {
  near.on("error", () => near.destroy());
  try {
    const far = await dial();
    near.on("close", () => far.destroy()).pipe(far);
    far
      .on("error", () => near.destroy())
      .on("close", () => near.destroy())
      .pipe(near);
  } catch {
    near.destroy();
  }
}

async function closeServer(server: Server): Promise<void> {
  await new Promise((resolve) => server.close(resolve));
}
