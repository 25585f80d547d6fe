import { createHash } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:net";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { connect } from "@envport/client";
import { rfb, RfbClient, screen } from "@envport/rfb";
import { Environment, serve } from "@envport/server";
import type { Server } from "@envport/server";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { peer, servePeer } from "./_peer.ts";

const python = peer("rfb");
const desktop = screen({ width: 640, height: 480 });
let folder: string;
let server: Server;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "envport-interop-"));
  const env = new Environment({ name: "desktop" });
  env.use(desktop);
  server = await serve(env);
  await desktop.spawn(["xterm", "-geometry", "80x24+0+0", "-e", "sh", "-c", `cat > ${folder}/typed`]);
});
afterAll(async () => {
  await python[Symbol.asyncDispose]();
  await server.close();
  await rm(folder, { recursive: true });
});

/** RGB as the peer's picture has it. */
async function pixels(client: RfbClient, width: number, height: number): Promise<string> {
  const { data } = await client.frame({ region: { x: 0, y: 0, width, height } });
  const rgb = Buffer.alloc((data.length / 4) * 3);
  for (let from = 0, to = 0; from < data.length; from += 4, to += 3)
    rgb.set(data.subarray(from, from + 3), to);
  return createHash("sha256").update(rgb).digest("hex");
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => probe.once("listening", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

test("the peer finds our screen behind a forwarder of its own", async () => {
  expect(await python.call("binding", server.url)).toEqual({
    url: expect.stringMatching(/^rfb:\/\/127\.0\.0\.1:\d+$/),
    protocol: "rfb/3.8",
    params: expect.arrayContaining(["display", "server"]),
  });
});

test("the peer's RFBClient types into a window of our screen by click and keys", async () => {
  await python.call("typed", server.url, 200, 200, "hello from asyncvnc");
  await expect
    .poll(() => readFile(`${folder}/typed`, "utf8"), { timeout: 10_000 })
    .toBe("hello from asyncvnc\n");
});

test("the peer's RFBClient sees on our screen the pixels that our client sees", async () => {
  await using client = await RfbClient.connect(desktop.capability);
  // Servers draw the pointer into the picture for asyncvnc: it is put where nobody looks.
  await client.move(639, 479);
  await client.waitForSettle({ quiet: 500 });
  const ours = await pixels(client, 600, 440);
  const [mime, ...sizes] = (await python.call("screenshot", server.url, 600, 440)) as [
    string,
    number,
    number,
    number[],
    string,
  ];
  expect(mime).toBe("image/png");
  expect(sizes.slice(0, 3)).toEqual([640, 480, [640, 480]]);
  expect(sizes[3]).toBe(ours);
});

test("our client solves a task on a screen that the peer serves: the password is longer than the protocol's 8 bytes", async () => {
  const place = await mkdtemp(path.join(tmpdir(), "envport-interop-"));
  onTestFinished(() => rm(place, { recursive: true }));
  const port = await freePort();
  await using served = await servePeer("screen_environment", {
    SCREEN_FOLDER: place,
    SCREEN_DISPLAY: `:${String(200 + (port % 1000))}`,
    SCREEN_PORT: String(port),
  });
  await using client = await connect(served.url);
  const task = await client.start("write", { word: "Grüße_(x)" });
  const shown = await client.open(rfb);
  const shot = await shown.screenshot({ scale: 0.5 });
  expect([shot.width, shot.height]).toEqual([320, 240]);
  await shown.waitForSettle({ quiet: 1_000, timeout: 20_000 });
  await shown.click(100, 100);
  await shown.type("Grüße_(x)\n");
  await expect.poll(() => readFile(`${place}/typed`, "utf8"), { timeout: 10_000 }).toBe("Grüße_(x)\n");
  expect(await task.grade("done")).toMatchObject({ score: 1 });
});
