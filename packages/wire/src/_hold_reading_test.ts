import assert from "node:assert/strict";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { test } from "vitest";
import { sendAndReset, socketPair } from "./_testing.ts";
import { holdReading, isFiller, mayHideReset } from "./_hold_reading.ts";

test.each([1, 16_384, 65_535, 65_536, 65_537, 300_000])(
  "TUN-3: a stream that is held where a chunk may hide a reset never ends by one, behind %d bytes",
  async (bytes) => {
    for (let i = 0; i < 10; i++) {
      const [near, far] = await socketPair();
      near.end();
      far.resume();
      await once(far, "end");
      let ended = false;
      near.on("end", () => (ended = true));
      near.on("data", (chunk: Buffer) => {
        if (!isFiller(chunk) && mayHideReset(near, chunk)) holdReading(near, () => near.resume());
      });
      await Promise.all([once(near, "close").catch(() => {}), sendAndReset(far, bytes)]);
      assert.equal(ended, false);
      assert.ok(near.errored);
    }
  },
);

test("holdReading() loses no byte of a stream, whatever its high-water mark", async () => {
  for (const readableHighWaterMark of [1, 16 * 1024, 200 * 1024]) {
    const stream = new PassThrough({ readableHighWaterMark });
    const chunks: Buffer[] = [];
    stream.on("data", (chunk: Buffer) => {
      if (isFiller(chunk)) return;
      chunks.push(chunk);
      holdReading(stream, () => stream.resume());
    });
    for (let i = 0; i < 100; i++) stream.write(Buffer.alloc(1_000, i));
    stream.end();
    await once(stream, "end");
    assert.deepEqual(
      Buffer.concat(chunks),
      Buffer.concat(Array.from({ length: 100 }, (_, i) => Buffer.alloc(1_000, i))),
    );
  }
});

test("holdReading() of a stream that is destroyed does nothing harmful", async () => {
  const stream = new PassThrough();
  stream.destroy();
  await new Promise<void>((resolve) => {
    holdReading(stream, resolve);
  });
  assert.equal(stream.readableLength, 0);
});
