import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "vitest";
import { heldMemory } from "./_testing.ts";
import { FrameReader, MAX_FRAME_BYTES } from "./frame_reader.ts";
import { ProtocolError } from "./protocol_error.ts";

/** All whole lines that are there. */
function readAll(reader: FrameReader): string[] {
  const lines: string[] = [];
  for (let line = reader.next(); line !== undefined; line = reader.next())
    lines.push(line.toString("latin1"));
  return lines;
}

/** Bytes cut at the given places. */
function split(bytes: Buffer, cuts: readonly number[]): Buffer[] {
  const places = [0, ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return places.slice(1).map((end, index) => bytes.subarray(places[index], end));
}

/** Bytes in which newlines are frequent. */
const streams = fc
  .array(fc.oneof(fc.constant(0x0a), fc.integer({ min: 0, max: 255 })), { maxLength: 3_000 })
  .map((bytes) => Buffer.from(bytes));
const cuts = fc.array(fc.nat({ max: 3_000 }), { maxLength: 40 });

test("FRAME-1: only the byte 0x0A ends a line, and a carriage return before it stays", () => {
  const reader = new FrameReader();
  const separators = Buffer.from("a\u2028b\u2029c\u000bd\u000ce\u0085f\r", "utf8");
  reader.push(Buffer.concat([separators, Buffer.from("\n")]));
  assert.deepEqual(reader.next(), separators);
  assert.equal(reader.next(), undefined);
});

test("FRAME-2: any split of a stream gives the same lines and the same rest", () => {
  fc.assert(
    fc.property(streams, cuts, (bytes, places) => {
      const expected = bytes.toString("latin1").split("\n");
      const rest = expected.pop()!;
      const reader = new FrameReader();
      const lines: string[] = [];
      for (const chunk of split(bytes, places)) {
        reader.push(chunk);
        lines.push(...readAll(reader));
      }
      assert.deepEqual(lines, expected);
      assert.equal(reader.bufferedBytes, rest.length);
      assert.equal(reader.last()?.toString("latin1") ?? "", rest);
      assert.equal(reader.bufferedBytes, 0);
    }),
    { numRuns: 500 },
  );
});

test("FRAME-2: it does not matter whether lines are taken out as chunks come or when all are there", () => {
  fc.assert(
    fc.property(streams, cuts, (bytes, places) => {
      const reader = new FrameReader();
      for (const chunk of split(bytes, places)) reader.push(chunk);
      assert.deepEqual(readAll(reader), bytes.toString("latin1").split("\n").slice(0, -1));
    }),
  );
});

test("FRAME-2: a line in a million chunks of one byte takes linear time, pushed one by one or all at once", () => {
  const line = Buffer.from(`${"x".repeat(1_000_000)}\n`);
  const slowly = new FrameReader();
  const atOnce = new FrameReader();
  let found: Buffer | undefined;
  for (let i = 0; i < line.length; i++) {
    slowly.push(line.subarray(i, i + 1));
    found = slowly.next();
    atOnce.push(line.subarray(i, i + 1));
  }
  // Quadratic work would take minutes here and run into the time-out.
  assert.equal(found?.length, 1_000_000);
  assert.equal(atOnce.next()?.length, 1_000_000);
});

test("FRAME-2: a line inside one chunk is not copied", () => {
  const chunk = Buffer.from("one\ntwo\n");
  const reader = new FrameReader();
  reader.push(chunk);
  assert.equal(reader.next()?.buffer, chunk.buffer);
});

test("FRAME-3: after any number of lines release() gives exactly the bytes behind them", () => {
  fc.assert(
    fc.property(streams, cuts, fc.nat({ max: 20 }), (bytes, places, wanted) => {
      const reader = new FrameReader();
      let taken = 0;
      for (const chunk of split(bytes, places)) {
        reader.push(chunk);
        while (taken < wanted && reader.next() !== undefined) taken++;
      }
      let start = 0;
      for (let i = 0; i < taken; i++) start = bytes.indexOf(0x0a, start) + 1;
      assert.deepEqual(reader.release(), Buffer.from(bytes.subarray(start)));
      assert.equal(reader.bufferedBytes, 0);
      assert.equal(reader.bufferedChunks, 0);
      assert.equal(reader.next(), undefined);
    }),
    { numRuns: 300 },
  );
});

test("FRAME-3: a reader that has released its bytes starts anew", () => {
  const reader = new FrameReader();
  reader.push(Buffer.from("begun"));
  assert.equal(reader.next(), undefined);
  assert.equal(String(reader.release()), "begun");
  reader.push(Buffer.from("next\n"));
  assert.equal(String(reader.next()), "next");
});

test("FRAME-4: the limit is 16 MiB unless told otherwise", () => {
  assert.equal(new FrameReader().maxFrameBytes, 16 * 1024 * 1024);
  assert.equal(MAX_FRAME_BYTES, 16 * 1024 * 1024);
});

test("FRAME-4: a line of exactly the limit passes, in one chunk and in many", () => {
  const reader = new FrameReader({ maxFrameBytes: 1_000 });
  const line = "x".repeat(1_000);
  reader.push(Buffer.from(`${line}\n`));
  assert.equal(String(reader.next()), line);
  for (const chunk of split(Buffer.from(`${line}\n`), [1, 400, 999, 1_000])) reader.push(chunk);
  assert.equal(String(reader.next()), line);
});

const tooLarge = (error: unknown): boolean =>
  error instanceof ProtocolError &&
  error.code === -32600 &&
  error.message.includes("1000") &&
  error.data?.["limit"] === 1_000;

test("FRAME-4: one byte more is refused with the limit in the message, whether or not its newline has come", () => {
  for (const tail of ["", "\n", "\n{}\n"]) {
    for (const places of [[], [1], [500, 1_000]]) {
      const reader = new FrameReader({ maxFrameBytes: 1_000 });
      for (const chunk of split(Buffer.from("x".repeat(1_001) + tail), places)) reader.push(chunk);
      assert.throws(() => reader.next(), tooLarge);
    }
  }
});

test("FRAME-4: once a line was too long, no later call makes a line of what follows", () => {
  const reader = new FrameReader({ maxFrameBytes: 1_000 });
  reader.push(Buffer.from("x".repeat(600)));
  assert.equal(reader.next(), undefined);
  reader.push(Buffer.from(`${"x".repeat(600)}\n{}\n`));
  assert.throws(() => reader.next(), tooLarge);
  reader.push(Buffer.from("{}\n"));
  assert.throws(() => reader.next(), tooLarge);
});

test("FRAME-4: lines before the one that is too long are still given", () => {
  const reader = new FrameReader({ maxFrameBytes: 1_000 });
  reader.push(Buffer.from(`{}\n${"x".repeat(1_001)}`));
  assert.equal(String(reader.next()), "{}");
  assert.throws(() => reader.next(), tooLarge);
});

test("FRAME-4: what is held never exceeds the limit plus one chunk, whatever the chunks", () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 60 }), (sizes) => {
      const reader = new FrameReader({ maxFrameBytes: 1_000 });
      try {
        for (const size of sizes) {
          reader.push(Buffer.alloc(size, "x"));
          assert.ok(reader.bufferedBytes <= 1_000 + size);
          reader.next();
        }
        assert.ok(sizes.reduce((sum, size) => sum + size, 0) <= 1_000);
      } catch (error) {
        assert.ok(tooLarge(error), String(error));
      }
    }),
  );
});

test("FRAME-4: a limit that is raised between two lines holds for the second", () => {
  const reader = new FrameReader({ maxFrameBytes: 4 });
  reader.push(Buffer.from("abcd\nabcdefgh\n"));
  assert.equal(String(reader.next()), "abcd");
  reader.maxFrameBytes = 8;
  assert.equal(String(reader.next()), "abcdefgh");
});

test("FRAME-4: a pending line in chunks of one byte is held as its bytes, not as its chunks", async () => {
  const reader = new FrameReader();
  const before = await heldMemory();
  for (let i = 0; i < 300_000; i++) {
    reader.push(Buffer.alloc(1, "x"));
    reader.next();
  }
  const held = (await heldMemory()) - before;
  assert.equal(reader.bufferedBytes, 300_000);
  assert.equal(reader.bufferedChunks, 0);
  // The chunks themselves would be more than 100 bytes each.
  assert.ok(held < 5e6, `${String(held)} bytes are held`);
});

test("FrameReader gives the buffer of a long line back", async () => {
  const reader = new FrameReader();
  const before = await heldMemory();
  const lengthOfLongLine = (): number | undefined => {
    for (let i = 0; i < 16; i++) reader.push(Buffer.alloc(1024 * 1024, "x"));
    reader.push(Buffer.from("\n"));
    return reader.next()?.length;
  };
  assert.equal(lengthOfLongLine(), 16 * 1024 * 1024);
  const held = (await heldMemory()) - before;
  assert.ok(held < 5e6, `${String(held)} bytes are held`);
});

test("FrameReader gives an empty line for each newline, and no empty last line", () => {
  const reader = new FrameReader();
  reader.push(Buffer.from("\n\n"));
  assert.deepEqual(readAll(reader), ["", ""]);
  assert.equal(reader.last(), undefined);
});

test("FrameReader takes plain Uint8Arrays and empty chunks", () => {
  const reader = new FrameReader();
  reader.push(new Uint8Array());
  reader.push(new Uint8Array([0x61, 0x0a]));
  assert.equal(String(reader.next()), "a");
});
