import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "vitest";
import { FramePool } from "./_frame_pool.ts";
import type { PooledFrame } from "./_frame_pool.ts";
import { decode } from "./decode.ts";
import { NdArray } from "./nd_array.ts";

test("memory is used again when the last user is done, and not before", () => {
  const pool = new FramePool(2);
  const first = pool.encode({ n: 1 });
  first.retain();
  first.release();
  assert.notEqual(pool.encode({ n: 2 }).bytes.buffer, first.bytes.buffer);
  first.release();
  assert.equal(pool.encode({ n: 3 }).bytes.buffer, first.bytes.buffer);
});

test("memory that is much too large is not used, and no more than the limit is kept", () => {
  const pool = new FramePool(1);
  const [large, other] = [pool.encode("x".repeat(1_000)), pool.encode("y".repeat(1_000))];
  large.release();
  other.release();
  const tiny = pool.encode(1);
  assert.equal(tiny.bytes.buffer.byteLength, 1);
  assert.notEqual(pool.encode("z".repeat(1_000)).bytes.buffer, large.bytes.buffer);
});

test("whatever is encoded and released in between, a frame that is in use says what it said", () => {
  const command = fc.tuple(fc.constantFrom("encode", "retain", "release"), fc.nat(9), fc.nat(600));
  fc.assert(
    fc.property(fc.array(command, { maxLength: 80 }), (commands) => {
      const pool = new FramePool(3);
      const live: { frame: PooledFrame; value: number; size: number; users: number }[] = [];
      let value = 0;
      for (const [name, index, size] of commands) {
        const one = live[index % Math.max(1, live.length)];
        if (name === "encode") {
          value = (value + 1) % 256;
          const frame = pool.encode(new NdArray(new Uint8Array(size).fill(value)));
          live.push({ frame, value, size, users: 1 });
        } else if (one && name === "retain") {
          one.frame.retain();
          one.users++;
        } else if (one) {
          one.frame.release();
          if (--one.users === 0) live.splice(live.indexOf(one), 1);
        }
        for (const { frame, value: expected, size: length } of live) {
          assert.deepEqual(decode(frame.bytes), new NdArray(new Uint8Array(length).fill(expected)));
        }
      }
    }),
    { numRuns: 300 },
  );
});
