import { EnvportError } from "@envport/wire";
import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import type { Readable } from "node:stream";

/** A program that has to go on running. */
export interface Daemon {
  readonly name: string;
  readonly process: ChildProcess;
  /** Resolves to why it ended. */
  readonly exited: Promise<Error>;
}

/** What a display is made with. */
export interface DisplayOptions {
  readonly width: number;
  readonly height: number;
  /** Where the VNC server listens. */
  readonly socket: string;
  /** The authority file of the display. */
  readonly authority: string | undefined;
  /** The password file. */
  readonly passwordFile: string | undefined;
  /** The variables of its processes. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** What was started, and the display's name. */
export interface DisplayServer {
  readonly daemons: readonly Daemon[];
  readonly display: string;
}

const STDERR_BYTES = 2_000;
const PACKAGES: Readonly<Record<string, string>> = {
  Xtigervnc: "tigervnc-standalone-server",
  Xvfb: "xvfb",
  x11vnc: "x11vnc",
};

/**
 * TigerVNC's display and server in one. A frame rate above the screen's halves what a click takes to be seen; its list
 * of misbehaving hosts would lock out the one host that there is.
 */
export async function startTigerVnc(options: DisplayOptions): Promise<DisplayServer> {
  const { width, height, socket, authority, passwordFile } = options;
  const security =
    passwordFile === undefined
      ? ["-SecurityTypes", "None"]
      : ["-SecurityTypes", "VncAuth", "-rfbauth", passwordFile];
  const { daemon, display } = await startDisplay("Xtigervnc", options, [
    ...["-geometry", `${String(width)}x${String(height)}`, "-depth", "24", "-auth", authority ?? ""],
    ...["-rfbport", "-1", "-rfbunixpath", socket, "-rfbunixmode", "384", ...security],
    ...["-AlwaysShared", "-FrameRate", "1000", "-MaxCutText", "16777216", "-UseBlacklist", "0"],
    ...["-desktop", "envport"],
  ]);
  return { daemons: [daemon], display };
}

/** A display in memory. */
export async function startXvfb(options: DisplayOptions): Promise<{ daemon: Daemon; display: string }> {
  const { width, height, authority } = options;
  const size = `${String(width)}x${String(height)}x24`;
  return await startDisplay("Xvfb", options, ["-screen", "0", size, "-auth", authority ?? ""]);
}

/** x11vnc on a display that is there: no TCP port, and no waiting where it may not wait. */
export function startX11Vnc(display: string, options: DisplayOptions): Daemon {
  const { socket, authority, passwordFile, env } = options;
  const args = [
    ...["-display", display, ...(authority === undefined ? [] : ["-auth", authority])],
    ...["-unixsock", socket, "-rfbport", "0", "-rfbportv6", "-1", "-no6", "-noipv6"],
    ...(passwordFile === undefined ? ["-nopw"] : ["-rfbauth", passwordFile]),
    ...[
      "-forever",
      "-nowireframe",
      "-noscrollcopyrect",
      "-shared",
      "-clear_all",
      "-wait",
      "1",
      "-defer",
      "0",
      "-setdefer",
      "-2",
      "-nonap",
      "-nowait_bog",
    ],
  ];
  // It keeps its clipboard to itself for 45 s otherwise.
  return startDaemon("x11vnc", args, { ...env, X11VNC_AVOID_WINDOWS: "never" });
}

async function startDisplay(
  name: string,
  { env }: DisplayOptions,
  args: readonly string[],
): Promise<{ daemon: Daemon; display: string }> {
  const daemon = startDaemon(name, ["-displayfd", "3", "-nolisten", "tcp", "-noreset", ...args], env);
  const number = await Promise.race([firstLine(daemon.process.stdio[3] as Readable), daemon.exited]);
  if (typeof number === "string" && /^\d+$/.test(number)) return { daemon, display: `:${number}` };
  throw new EnvportError("service-failed", `Cannot start display as ${name} must run: it has ended`, {
    cause: number,
  });
}

async function firstLine(stream: Readable): Promise<string> {
  let text = "";
  for await (const chunk of stream) {
    text += String(chunk);
    if (text.includes("\n")) break;
  }
  return text.trim();
}

/** Whether a program is installed. */
export function isInstalled(name: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((folder) => {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function startDaemon(
  name: string,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Daemon {
  if (!isInstalled(name)) {
    throw new EnvportError(
      "service-failed",
      `Cannot start screen as the program '${name}' must be installed: apt-get install ${PACKAGES[name] ?? name}`,
    );
  }
  const child = spawn(name, args, { stdio: ["ignore", "ignore", "pipe", "pipe"], env });
  let words = "";
  child
    .stderr!.setEncoding("utf8")
    .on("data", (text: string) => (words = (words + text).slice(-STDERR_BYTES)));
  const exited = new Promise<Error>((resolve) => {
    child.once("error", resolve);
    child.once("exit", (code, signal) => {
      const how = signal === null ? `exit code ${String(code)}` : signal;
      resolve(new Error(`${name} has ended with ${how}`, { cause: words.trim() }));
    });
  });
  return { name, process: child, exited };
}
