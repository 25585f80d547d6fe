import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createRequire } from "node:module";
import { expect, onTestFinished, test } from "vitest";
import {
  canConnect,
  compare,
  connectTo,
  freePort,
  grab,
  makeFolder,
  paint,
  readWhenThere,
  startScreen,
  startXterm,
  tap,
  until,
} from "./_testing.ts";

const rfb2 = createRequire(import.meta.url)("rfb2");

test("rfb2, a client of another family, sees on our screen what xwd sees", async () => {
  const { screen, capability } = await startScreen({
    server: "tigervnc",
    width: 320,
    height: 240,
    password: "s3cret",
  });
  await paint(screen, 2);
  const { port } = await tap(capability);
  const pixels = new Uint8Array(320 * 240 * 4);
  let painted = 0;
  const client = rfb2.createConnection({ host: "127.0.0.1", port, password: "s3cret" });
  onTestFinished(() => void client.end());
  client.on("error", () => undefined);
  client.on(
    "rect",
    (rect: { encoding: number; x: number; y: number; width: number; height: number; data: Buffer }) => {
      if (rect.encoding !== 0) return;
      for (let row = 0; row < rect.height; row++) {
        const line = rect.data.subarray(row * rect.width * 4, (row + 1) * rect.width * 4);
        pixels.set(line, ((rect.y + row) * 320 + rect.x) * 4);
      }
      painted += rect.width * rect.height;
    },
  );
  await until("it has the whole picture", () => (painted >= 320 * 240 ? true : undefined));
  // It asks for blue first.
  for (let i = 0; i < pixels.length; i += 4) [pixels[i], pixels[i + 2]] = [pixels[i + 2]!, pixels[i]!];
  expect(compare(pixels, (await grab(screen)).rgb)).toEqual({ pixels: 0, most: 0 });
});

test("a TigerVNC viewer shows our screen, and what is typed and clicked in it arrives there", async () => {
  const { screen, capability } = await startScreen({ server: "tigervnc", width: 400, height: 300 });
  await paint(screen, 4);
  const { screen: outer, capability: outerCapability } = await startScreen({ width: 640, height: 480 });
  const { path } = capability.dial as { path: string };
  await outer.spawn([
    "xtigervncviewer",
    "-RemoteResize=0",
    "-Geometry=640x480+0+0",
    "-SecurityTypes=None",
    path,
  ]);
  const watcher = await connectTo(outerCapability);
  const inner = await connectTo(capability);
  const wanted = (await grab(screen)).rgb;
  await until("the viewer shows it", async () => {
    const { data } = await watcher.frame();
    // The viewer puts the picture into the middle of its window, below no menu.
    const line = Buffer.from(wanted.subarray(0, 12));
    for (let at = 0; at + 16 < data.length; at += 4) {
      if (data[at] === line[0] && data[at + 1] === line[1] && data[at + 2] === line[2]) return true;
    }
    return undefined;
  });
  const before = await inner.frame();
  await startXterm(screen, "cat", "40x10+50+50");
  await inner.waitForChange({ since: before });
  await watcher.waitForSettle();
  const seen = await inner.frame();
  await watcher.click(320, 240, { on: "screen" });
  await watcher.type("through the viewer");
  await inner.waitForChange({ since: seen });
  const { stdout } = await new Promise<{ stdout: string }>((resolve) => {
    const child = spawn("xdotool", ["getmouselocation"], { env: { ...process.env, ...screen.env } });
    let text = "";
    child.stdout.on("data", (chunk: Buffer) => (text += chunk.toString()));
    child.once("close", () => resolve({ stdout: text }));
  });
  // In the middle of the viewer's window is the middle of our screen.
  const [, x, y] = /x:(\d+) y:(\d+)/.exec(stdout)!;
  assert.ok(Math.abs(Number(x) - 200) < 30 && Math.abs(Number(y) - 150) < 30, stdout);
});

test("noVNC in a browser shows our screen through websockify, and what is typed in it arrives there", async () => {
  const { screen, capability } = await startScreen({ server: "tigervnc", width: 400, height: 300 });
  const folder = await makeFolder();
  const xterm = [
    "xterm",
    "-bg",
    "#ff8800",
    "-geometry",
    "60x20+0+0",
    "-e",
    "sh",
    "-c",
    `cat > ${folder}/typed`,
  ];
  await screen.spawn(xterm);
  const { screen: outer, capability: outerCapability } = await startScreen({ width: 640, height: 520 });
  const { path } = capability.dial as { path: string };
  const port = await freePort();
  const bridge = spawn(
    "websockify",
    [`--unix-target=${path}`, "--web=/usr/share/novnc", `127.0.0.1:${String(port)}`],
    {
      stdio: "ignore",
    },
  );
  onTestFinished(() => void bridge.kill());
  await until("websockify listens", () => canConnect(port));
  const page = `http://127.0.0.1:${String(port)}/vnc_lite.html?host=127.0.0.1&port=${String(port)}&path=`;
  const flags = [
    "--no-sandbox",
    "--test-type",
    "--no-first-run",
    "--disable-gpu",
    `--user-data-dir=${folder}/profile`,
  ];
  const place = ["--window-position=0,0", "--window-size=640,520"];
  await outer.spawn(["chromium", ...flags, ...place, "--no-proxy-server", `--app=${page}`]);
  const watcher = await connectTo(outerCapability);
  const orange = await until("noVNC shows the terminal", async () => {
    const { data, width } = await watcher.frame();
    const found: number[] = [];
    for (let i = 0; i < data.length; i += 4)
      if (data[i] === 255 && data[i + 1] === 0x88 && data[i + 2] === 0) found.push(i / 4);
    // All of its 366 x 264 pixels but the text cursor and the pointer.
    if (found.length < 90_000) return undefined;
    const middle = found[Math.floor(found.length / 2)]!;
    return { x: middle % width, y: Math.floor(middle / width) };
  });
  await watcher.click(orange.x, orange.y, { on: "screen" });
  await watcher.type("through noVNC\n");
  expect(await readWhenThere(`${folder}/typed`)).toBe("through noVNC\n");
}, 60_000);
