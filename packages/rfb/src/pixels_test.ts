import assert from "node:assert/strict";
import { expect, onTestFinished, test, describe, beforeAll, afterAll } from "vitest";
import { compare, grab, paint, startXterm, SERVERS } from "./_testing.ts";
import { RfbClient } from "./rfb_client.ts";
import type { PixelEncoding } from "./rfb_client_options.ts";
import { Screen } from "./screen.ts";

const ENCODINGS: readonly PixelEncoding[] = ["raw", "rre", "hextile", "zlib", "zrle", "tight"];

async function settled(client: RfbClient): Promise<void> {
  await client.waitForSettle({ quiet: 300, timeout: 15_000 });
}

/** Compares until they are the same: x11vnc looks at the display when it likes. */
async function assertSame(client: RfbClient, screen: Screen): Promise<void> {
  await expect
    .poll(async () => compare((await client.frame()).data, (await grab(screen)).rgb).pixels, {
      timeout: 8_000,
    })
    .toBe(0);
}

describe.each(SERVERS)("on %s", (server) => {
  let screen: Screen;
  beforeAll(async () => {
    screen = new Screen({ server, width: 333, height: 251 });
    await screen.start();
    await paint(screen, 1);
  });
  afterAll(() => screen.stop());

  test.each(ENCODINGS)(
    "every pixel that %s tells is the one that xwd sees, also after changes",
    async (encoding) => {
      const client = await RfbClient.connect(screen.capability, { encodings: [encoding, "copy-rect"] });
      onTestFinished(() => client.close());
      await assertSame(client, screen);
      const before = await client.frame();
      await paint(screen, 7 + ENCODINGS.indexOf(encoding));
      await client.waitForChange({ since: before });
      await settled(client);
      await assertSame(client, screen);
    },
  );

  test("a terminal that scrolls is pixel by pixel what xwd sees", async () => {
    const client = await RfbClient.connect(screen.capability, { encodings: ["copy-rect", "tight", "zrle"] });
    onTestFinished(() => client.close());
    // TigerVNC draws the pointer into the picture of a client that has not moved it.
    await client.move(300, 200);
    const before = await client.frame();
    const xterm = await startXterm(screen, "seq 1 400; sleep 60", "30x12+20+20");
    await client.waitForChange({ since: before });
    await settled(client);
    await assertSame(client, screen);
    xterm.kill();
    await settled(client);
    await assertSame(client, screen);
  });

  test("the pointer is in a picture only where it is asked for", async () => {
    const client = await RfbClient.connect(screen.capability);
    onTestFinished(() => client.close());
    const before = await client.frame();
    const xterm = await startXterm(screen, "cat", "20x5+0+0");
    await client.waitForChange({ since: before });
    await client.move(300, 220);
    await settled(client);
    await client.move(60, 40);
    await settled(client);
    const [without, pointed] = [await client.frame(), await client.frame({ pointer: true })];
    const changed = new Set<number>();
    without.data.forEach((value, i) => value !== pointed.data[i] && changed.add(i >> 2));
    expect(changed.size).toBeGreaterThan(5);
    for (const pixel of changed) {
      const [x, y] = [pixel % without.width, Math.floor(pixel / without.width)];
      expect(Math.max(Math.abs(x - 60), Math.abs(y - 40))).toBeLessThan(32);
    }
    xterm.kill();
    await settled(client);
  });

  test("JPEG rectangles are near what xwd sees, where they are asked for", async () => {
    await paint(screen, 3);
    const client = await RfbClient.connect(screen.capability, { encodings: ["tight"], jpegQuality: 8 });
    onTestFinished(() => client.close());
    await settled(client);
    const { data } = await client.frame();
    const { rgb } = await grab(screen);
    const { pixels } = compare(data, rgb);
    assert.ok(pixels > 0, "nothing came as JPEG");
    let total = 0;
    for (let i = 0, from = 0; i < rgb.length; i += 3, from += 4) total += Math.abs(data[from]! - rgb[i]!);
    // Noise and stripes are what JPEG does worst, with its colours at half the size.
    assert.ok(total / (rgb.length / 3) < 30, `mean difference ${total / (rgb.length / 3)}`);
  });
});
