import fc from "fast-check";
import assert from "node:assert/strict";
import sharp from "sharp";
import { test } from "vitest";
import { encodePng } from "./encode_png.ts";

async function decoded(png: Buffer): Promise<Buffer> {
  return await sharp(png).toColourspace("srgb").removeAlpha().raw().toBuffer();
}

test("encodePng() makes what libpng reads back, with few colours and with many", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 1, max: 40 }),
      fc.constantFrom(1, 2, 200, 256, 257, 100_000),
      fc.nat(),
      async (width, height, colours, seed) => {
        const data = new Uint8Array(width * height * 4);
        const rgb = Buffer.alloc(width * height * 3);
        let random = seed;
        for (let i = 0; i < width * height; i++) {
          random = (Math.imul(random, 1103515245) + 12345) >>> 0;
          const value = Math.imul((random >>> 8) % colours, 0x9e3779b1) >>> 8;
          const pixel = [value & 255, (value >> 8) & 255, (value >> 16) & 255];
          data.set([...pixel, 255], i * 4);
          rgb.set(pixel, i * 3);
        }
        assert.deepEqual(await decoded(await encodePng({ width, height, data })), rgb);
      },
    ),
    { numRuns: 60 },
  );
});

test("encodePng() refuses what is not four bytes a pixel", async () => {
  await assert.rejects(encodePng({ width: 2, height: 2, data: new Uint8Array(12) }), RangeError);
  await assert.rejects(encodePng({ width: 0, height: 0, data: new Uint8Array(0) }), RangeError);
});
