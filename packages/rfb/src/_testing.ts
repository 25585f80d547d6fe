/** Real screens and X programs for the tests. */
import { execFile } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { PublishedCapability } from "@envport/wire";
import { onTestFinished } from "vitest";
import { RfbClient } from "./rfb_client.ts";
import type { RfbConnectOptions } from "./rfb_client_options.ts";
import { Screen } from "./screen.ts";
import type { ScreenOptions } from "./screen_options.ts";

export const execute = promisify(execFile);
export const SERVERS = ["tigervnc", "x11vnc"] as const;
const WAIT_MS = 15_000;

/** A screen that stops at the end of the test. */
export async function startScreen(
  options: ScreenOptions = {},
): Promise<{ screen: Screen; capability: PublishedCapability }> {
  const screen = new Screen({ width: 640, height: 480, ...options });
  onTestFinished(() => screen.stop());
  const [capability] = await screen.start();
  return { screen, capability: capability! };
}

/** A client that closes at the end of the test. */
export async function connectTo(
  capability: PublishedCapability,
  options: RfbConnectOptions = {},
): Promise<RfbClient> {
  const client = await RfbClient.connect(capability, options);
  onTestFinished(() => client.close());
  return client;
}

/** A folder that is removed at the end of the test. */
export async function makeFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "envport-rfb-test-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

/** Asks again and again. */
export async function until<T>(
  what: string,
  check: () => Promise<T | undefined> | T | undefined,
): Promise<T> {
  const deadline = performance.now() + WAIT_MS;
  for (;;) {
    const value = await check();
    if (value !== undefined && value !== false) return value;
    if (performance.now() > deadline) throw new Error(`Waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 30));
  }
}

/** The whole display as another program sees it: RGB, three bytes a pixel, from xwd. */
export async function grab(screen: Screen): Promise<{ width: number; height: number; rgb: Buffer }> {
  const { stdout } = await execute("xwd", ["-root", "-silent"], {
    env: { ...process.env, ...screen.env },
    encoding: "buffer",
    maxBuffer: 1 << 28,
  });
  const field = (i: number): number => stdout.readUInt32BE(i * 4);
  const [header, width, height, stride, colours] = [field(0), field(4), field(5), field(12), field(19)];
  const start = header + colours * 12;
  const rgb = Buffer.alloc(width * height * 3);
  for (let y = 0, to = 0; y < height; y++) {
    for (let x = 0, from = start + y * stride; x < width; x++, from += 4, to += 3) {
      rgb[to] = stdout[from + 2]!;
      rgb[to + 1] = stdout[from + 1]!;
      rgb[to + 2] = stdout[from]!;
    }
  }
  return { width, height, rgb };
}

/** How many pixels differ, and the largest difference of a colour. */
export function compare(rgba: Uint8Array, rgb: Uint8Array): { pixels: number; most: number } {
  let [pixels, most] = [0, 0];
  for (let i = 0, from = 0; i < rgb.length; i += 3, from += 4) {
    const off = Math.max(...[0, 1, 2].map((c) => Math.abs(rgba[from + c]! - rgb[i + c]!)));
    if (off > 0) pixels++;
    most = Math.max(most, off);
  }
  return { pixels, most };
}

/** Shows flat areas, stripes, a gradient and noise over the whole display: a picture that depends on the seed. */
export async function paint(screen: Screen, seed: number): Promise<ChildProcess> {
  const { width, height, rgb } = await grab(screen);
  const folder = await mkdtemp(join(tmpdir(), "envport-paint-"));
  const file = join(folder, "picture.xwd");
  await writeFile(file, xwdFile(width, height, seed));
  const child = await screen.spawn(["xwud", "-noclick", "-geometry", "+0+0", "-in", file]);
  await until("the picture is shown", async () => !(await grab(screen)).rgb.equals(rgb));
  await rm(folder, { recursive: true });
  return child;
}

/** An image in the format of xwd (X11/XWDFile.h). */
function xwdFile(width: number, height: number, seed: number): Buffer {
  const fields = [
    104,
    7,
    2,
    24,
    width,
    height,
    0,
    0,
    32,
    0,
    32,
    32,
    width * 4,
    4,
    0xff0000,
    0xff00,
    0xff,
    8,
    0,
    0,
  ];
  const head = Buffer.alloc(104);
  [...fields, width, height, 0, 0, 0].forEach((field, i) => head.writeUInt32BE(field, i * 4));
  const pixels = Buffer.alloc(width * height * 4);
  let random = seed + 1;
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += 4) {
      random = (Math.imul(random, 1664525) + 1013904223) >>> 0;
      const area = Math.floor((x * 3) / width) + 3 * Math.floor((y * 3) / height);
      pixels.writeUInt32LE(colourOf((area + seed) % 9, x, y, random) & 0xffffff, at);
    }
  }
  return Buffer.concat([head, pixels]);
}

function colourOf(area: number, x: number, y: number, random: number): number {
  if (area < 3) return [0xffffff, 0x336699, 0x000000][area]!;
  if (area === 3) return random >>> 8;
  if (area === 4) return ((x * 5) & 255) | (((y * 3) & 255) << 8) | (((x + y) & 255) << 16);
  if (area === 5) return (x >> 2) & 1 ? 0xff8800 : 0x004488;
  if (area === 6) return (random >>> 24) % 3 === 0 ? 0x111111 : 0xeeeeee;
  return 0x010101 * (((x >> area) * 40 + y) & 255);
}

/** An xterm whose shell command is given. Its window takes what is typed wherever the pointer is. */
export async function startXterm(
  screen: Screen,
  command: string,
  geometry = "80x24+0+0",
): Promise<ChildProcess> {
  return await screen.spawn({
    command: [
      "xterm",
      "-u8",
      "-fa",
      "DejaVu Sans Mono",
      "-fs",
      "11",
      "-geometry",
      geometry,
      "-e",
      "sh",
      "-c",
      command,
    ],
    env: { LC_ALL: "C.UTF-8" },
  });
}

/** What a program writes into a file, once it does. */
export async function readWhenThere(
  file: string,
  done: (text: string) => boolean = () => true,
): Promise<string> {
  return await until(`${file} is written`, async () => {
    const text = await readFile(file, "utf8").catch(() => "");
    return text !== "" && done(text) ? text : undefined;
  });
}

/** A port that leads to a screen's socket, and remembers what the server says. */
export async function tap(
  capability: PublishedCapability,
): Promise<{ port: number; recorded: Buffer[]; cut: () => void }> {
  const recorded: Buffer[] = [];
  const sockets = new Set<{ destroy(): void }>();
  const server = createServer((incoming) => {
    const outgoing = connect(capability.dial as { path: string });
    for (const socket of [incoming, outgoing]) {
      sockets.add(socket.on("error", () => undefined).setNoDelay(true));
      socket.once("close", () => (incoming.destroy(), outgoing.destroy()));
    }
    outgoing.on("data", (chunk: Buffer) => recorded.push(chunk)).pipe(incoming);
    incoming.pipe(outgoing);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const cut = (): void => sockets.forEach((socket) => socket.destroy());
  onTestFinished(() => {
    cut();
    server.close();
  });
  return { port: (server.address() as { port: number }).port, recorded, cut };
}

/** The same screen at a port. */
export function atPort(capability: PublishedCapability, port: number): PublishedCapability {
  const { dial: _, ...rest } = capability;
  return { ...rest, url: `rfb://127.0.0.1:${String(port)}` };
}

/** A port of this machine that nothing listens on. */
export async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  const { port } = probe.address() as { port: number };
  probe.close();
  await once(probe, "close");
  return port;
}

/** True once something listens there. */
export async function canConnect(port: number): Promise<true | undefined> {
  const socket = connect({ host: "127.0.0.1", port });
  const answered = await once(socket, "connect").then(
    () => true as const,
    () => undefined,
  );
  socket.destroy();
  return answered;
}
