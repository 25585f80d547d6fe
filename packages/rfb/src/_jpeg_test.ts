import assert from "node:assert/strict";
import sharp from "sharp";
import { test } from "vitest";
import { decodeJpeg } from "./_jpeg.ts";

/** A smooth picture with a few edges. */
function picture(width: number, height: number): Buffer {
  const rgb = Buffer.alloc(width * height * 3);
  for (let y = 0, at = 0; y < height; y++) {
    for (let x = 0; x < width; x++, at += 3) {
      const edge = (x >> 4) + (y >> 4) === 3 ? 90 : 0;
      rgb.set([(x * 255) / width, (y * 255) / height, 128 + edge], at);
    }
  }
  return rgb;
}

const options = [
  { quality: 92, chromaSubsampling: "4:4:4" },
  { quality: 60, chromaSubsampling: "4:2:0" },
  { quality: 100, chromaSubsampling: "4:4:4", optimiseCoding: true },
] as const;

test.each(options)("a JPEG image of %j is what libjpeg makes of it", async (jpeg) => {
  for (const [width, height] of [
    [64, 48],
    [37, 21],
    [1, 1],
    [130, 9],
  ] as const) {
    const raw = { width, height, channels: 3 } as const;
    const file = await sharp(picture(width, height), { raw }).jpeg(jpeg).toBuffer();
    const expected = await sharp(file).ensureAlpha().raw().toBuffer();
    const decoded = decodeJpeg(file, { width, height });
    let total = 0;
    let most = 0;
    decoded.forEach((value, i) => {
      total += Math.abs(value - expected[i]!);
      most = Math.max(most, Math.abs(value - expected[i]!));
    });
    // libjpeg smooths chroma where it is subsampled, and rounds more.
    const smooth = jpeg.chromaSubsampling === "4:4:4";
    assert.ok(most <= (smooth ? 3 : 64), `${width}x${height}: ${most}`);
    assert.ok(total / decoded.length <= (smooth ? 0.6 : 6), `${width}x${height}: ${total / decoded.length}`);
  }
});

test("a grey JPEG image has equal colours", async () => {
  const raw = { width: 16, height: 8, channels: 3 } as const;
  const file = await sharp(picture(16, 8), { raw }).greyscale().jpeg({ quality: 95 }).toBuffer();
  const decoded = decodeJpeg(file, { width: 16, height: 8 });
  for (let i = 0; i < decoded.length; i += 4)
    assert.ok(decoded[i] === decoded[i + 1] && decoded[i] === decoded[i + 2]);
});

test("a JPEG image that is progressive, of another size or cut off is refused, never decoded by guess", async () => {
  const raw = { width: 32, height: 32, channels: 3 } as const;
  const progressive = await sharp(picture(32, 32), { raw }).jpeg({ progressive: true }).toBuffer();
  const plain = await sharp(picture(32, 32), { raw }).jpeg().toBuffer();
  const size = { width: 32, height: 32 };
  const refused = { name: "EnvportError", code: "protocol-violation" };
  assert.throws(() => decodeJpeg(progressive, size), refused);
  assert.throws(() => decodeJpeg(plain, { width: 31, height: 32 }), refused);
  assert.throws(() => decodeJpeg(Buffer.from("not an image"), size), refused);
  for (let cut = 0; cut < 300; cut++) assert.throws(() => decodeJpeg(plain.subarray(0, cut), size), refused);
});
