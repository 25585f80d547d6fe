import { spawn } from "node:child_process";
import { readFile } from "node:fs/promises";
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
  tap,
  until,
} from "./_testing.ts";
import type { RfbClient } from "./rfb_client.ts";
import type { Screen } from "./screen.ts";

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

/** An orange terminal of 366 x 264 pixels, which writes what is typed into a file. */
async function startOrange(screen: Screen, file: string): Promise<void> {
  const look = ["-bg", "#ff8800", "-geometry", "60x20+0+0"];
  await screen.spawn(["xterm", ...look, "-e", "sh", "-c", `cat > ${file}`]);
}

/** Its middle, once all of it but its text cursor and a pointer is seen. */
async function findOrange(watcher: RfbClient): Promise<{ x: number; y: number }> {
  return await until("the terminal is shown", async () => {
    const { data, width } = await watcher.frame();
    const found: number[] = [];
    for (let i = 0; i < data.length; i += 4) {
      if (data[i] === 255 && data[i + 1] === 0x88 && data[i + 2] === 0) found.push(i / 4);
    }
    if (found.length < 90_000) return undefined;
    const middle = found[Math.floor(found.length / 2)]!;
    return { x: middle % width, y: Math.floor(middle / width) };
  });
}

test("a TigerVNC viewer shows our screen, and what is typed and clicked in it arrives there", async () => {
  const { screen, capability } = await startScreen({ server: "tigervnc", width: 400, height: 300 });
  const folder = await makeFolder();
  await startOrange(screen, `${folder}/typed`);
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
  const { x, y } = await findOrange(watcher);
  // The viewer takes the keyboard when its window has got the focus, which without a window manager takes some clicks.
  await until("what is typed arrives", async () => {
    await watcher.move(5, 5, { on: "screen" });
    await watcher.click(x, y, { on: "screen" });
    await watcher.type("through the viewer\n");
    await new Promise((resolve) => setTimeout(resolve, 300));
    const text = await readFile(`${folder}/typed`, "utf8").catch(() => "");
    return text.includes("through the viewer\n") ? true : undefined;
  });
});

test("noVNC in a browser shows our screen through websockify, and what is typed in it arrives there", async () => {
  const { screen, capability } = await startScreen({ server: "tigervnc", width: 400, height: 300 });
  const folder = await makeFolder();
  await startOrange(screen, `${folder}/typed`);
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
  const orange = await findOrange(watcher);
  await watcher.click(orange.x, orange.y, { on: "screen" });
  await watcher.type("through noVNC\n");
  expect(await readWhenThere(`${folder}/typed`)).toBe("through noVNC\n");
}, 60_000);
