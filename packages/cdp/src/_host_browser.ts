import { spawn } from "node:child_process";
import { chownSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { browserFlags } from "./_browser_flags.ts";
import type { FlagsRequest } from "./_browser_flags.ts";
import { collectComplaints } from "./_running_browser.ts";
import type { RunningBrowser } from "./_running_browser.ts";

/** "nobody": whom a served root's browser runs as, so that Chromium keeps its own sandbox. */
export const NOBODY = 65_534;
const INHERITED = [
  "PATH",
  "LANG",
  "TZ",
  "DISPLAY",
  "WAYLAND_DISPLAY",
  "XAUTHORITY",
  "XDG_RUNTIME_DIR",
  "FONTCONFIG_PATH",
];
const PAUSE_MS = 20;

/** What starts a browser. */
export interface StartRequest extends Omit<FlagsRequest, "profile"> {
  readonly executablePath: string;
  /** The browser's own folder. */
  readonly home: string;
  readonly started: (browser: Pick<RunningBrowser, "child" | "complaints">) => void;
}

/**
 * Starts a browser in this machine's network and files. Its end of a pipe closes with this process, however that ends,
 * and then it ends by itself.
 *
 * @param request `started` is called at once, with what can be ended; the promise waits for the port.
 */
export async function startOnHost(request: StartRequest): Promise<RunningBrowser> {
  const { executablePath, home, started } = request;
  const isRoot = process.getuid?.() === 0;
  if (isRoot) chownSync(home, NOBODY, NOBODY);
  const profile = join(home, "profile");
  const inherited = INHERITED.flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : []));
  const words = ["--remote-debugging-pipe", ...browserFlags({ ...request, profile })];
  const child = spawn(executablePath, words, {
    cwd: home,
    env: { ...(Object.fromEntries(inherited) as Record<string, string>), HOME: home, TMPDIR: home },
    stdio: ["ignore", "ignore", "pipe", "pipe", "pipe"],
    detached: process.platform !== "win32",
    ...(isRoot ? { uid: NOBODY, gid: NOBODY } : {}),
  });
  for (const pipe of child.stdio.slice(3)) pipe?.on("error", () => undefined);
  (child.stdio[4] as NodeJS.ReadableStream).resume();
  const complaints = collectComplaints(child);
  started({ child, complaints });
  for (;;) {
    const port = readPort(join(profile, "DevToolsActivePort"));
    if (port !== undefined) return { child, port, dial: { host: "127.0.0.1", port }, complaints };
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) {
      return await new Promise(() => undefined);
    }
    await sleep(PAUSE_MS);
  }
}

/** The file is there, empty, before its content is. */
function readPort(file: string): number | undefined {
  try {
    const [, port] = /^(\d+)\n\/devtools\/browser\/./.exec(readFileSync(file, "utf8")) ?? [];
    return port === undefined ? undefined : Number(port);
  } catch {
    return undefined;
  }
}
