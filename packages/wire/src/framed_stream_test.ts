import fc from "fast-check";
import assert from "node:assert/strict";
import { once } from "node:events";
import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { test, vi } from "vitest";
import { heldMemory, listeners, memoryPair, sendAndReset, socketPair, unixPair, until } from "./_testing.ts";
import { EnvportError } from "./envport_error.ts";
import { FramedStream } from "./framed_stream.ts";

const lost = (error: unknown): boolean => error instanceof EnvportError && error.code === "connection-lost";

async function readAll(framed: FramedStream): Promise<string[]> {
  const lines: string[] = [];
  for (let line = await framed.read(); line !== undefined; line = await framed.read())
    lines.push(String(line));
  return lines;
}

/** Everything that a stream still gives, read as a caller would that has been handed the stream. */
async function drain(stream: NodeJS.ReadableStream): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

test("FRAME-2: lines come out as they were sent, over a real socket", async () => {
  const [near, far] = await socketPair();
  const sent = Array.from({ length: 2_000 }, (_, i) => `${String(i)}-${"x".repeat((i * 37) % 500)}`);
  const text = Buffer.from(`${sent.join("\n")}\n`);
  for (let at = 0; at < text.length; at += 1_013) far.write(text.subarray(at, at + 1_013));
  far.end();
  assert.deepEqual(await readAll(new FramedStream(near)), sent);
});

test("FRAME-2: lines come out as they were sent, in whatever chunks, and the last one needs no newline", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.stringMatching(/^[a-z]{0,20}$/), { maxLength: 20 }),
      fc.integer({ min: 1, max: 9 }),
      async (sent, size) => {
        const stream = new PassThrough();
        const framed = new FramedStream(stream);
        const text = Buffer.from(sent.join("\n"));
        for (let at = 0; at < text.length; at += size) stream.write(text.subarray(at, at + size));
        stream.end();
        const expected = sent.at(-1) === "" ? sent.slice(0, -1) : sent;
        assert.deepEqual(await readAll(framed), expected);
      },
    ),
    { numRuns: 50 },
  );
});

test("SESS-4: an orderly end gives the lines before it, the unterminated last one, and then undefined for ever", async () => {
  const [near, far] = await socketPair();
  const framed = new FramedStream(near);
  far.end("one\ntwo");
  assert.deepEqual(await readAll(framed), ["one", "two"]);
  assert.equal(await framed.read(), undefined);
  assert.equal(framed.ended, true);
  assert.equal(framed.lost.aborted, false);
  assert.equal(near.writable, true);
});

test.each([0, 10, 300_000])("TUN-3: a reset behind %d bytes is a loss and never an end", async (bytes) => {
  const [near, far] = await socketPair();
  const framed = new FramedStream(near);
  const reading = readAll(framed);
  await sendAndReset(far, bytes);
  await assert.rejects(reading, lost);
  assert.equal(framed.lost.aborted, true);
  assert.equal((framed.lost.reason as EnvportError).code, "connection-lost");
  assert.ok(near.destroyed);
});

test("FramedStream aborts `lost` while nobody reads", async () => {
  const [near, far] = await socketPair();
  const framed = new FramedStream(near);
  far.write("begun");
  await sleep(20);
  far.resetAndDestroy();
  await once(framed.lost, "abort");
  await assert.rejects(framed.read(), lost);
});

test("FramedStream sees the reset of a peer that had filled it, as soon as somebody reads again", async () => {
  const [near, far] = await socketPair();
  const framed = new FramedStream(near);
  far.write(Buffer.alloc(8 * 1024 * 1024, "line\n"));
  await until(() => near.isPaused());
  far.resetAndDestroy();
  await assert.rejects(readAll(framed), lost);
  assert.ok(near.destroyed);
});

test("FramedStream tells the cause of a loss where there is one, and none where there is none", async () => {
  const [withCause, withoutCause] = [new PassThrough(), new PassThrough()];
  const [first, second] = [new FramedStream(withCause), new FramedStream(withoutCause)];
  withCause.destroy(new Error("unplugged"));
  withoutCause.destroy();
  await Promise.all([assert.rejects(first.read(), lost), assert.rejects(second.read(), lost)]);
  assert.equal((first.lost.reason as Error).cause, withCause.errored);
  assert.equal("cause" in (second.lost.reason as Error), false);
});

test.each(["closed", "ended", "destroyed"])(
  "FramedStream made of a stream that is %s already does not wait for ever",
  async (how) => {
    const stream = new PassThrough();
    if (how === "ended") {
      stream.resume().end();
      await once(stream, "close");
    } else {
      stream.destroy();
      if (how === "closed") await once(stream, "close");
    }
    const framed = new FramedStream(stream);
    if (how === "ended") assert.equal(await framed.read(), undefined);
    else await assert.rejects(framed.read(), lost);
  },
);

test("FRAME-4: while nobody reads, a flood is stopped at 64 KiB and one chunk", async () => {
  const [near, far] = await socketPair();
  const framed = new FramedStream(near);
  let sent = 0;
  const flood = Buffer.alloc(64 * 1024, "0123456\n");
  const more = (): void => {
    for (let flowing = true; flowing && sent < 64 * 1024 * 1024; sent += flood.length)
      flowing = far.write(flood);
  };
  far.on("drain", more);
  more();
  await until(() => near.isPaused());
  await sleep(50);
  const { head } = framed.release();
  assert.ok(
    head.length >= 64 * 1024 && head.length < 3 * 64 * 1024,
    `${String(head.length)} bytes were held`,
  );
  assert.ok(sent < 64 * 1024 * 1024);
});

test("FRAME-4: while nobody reads, a drip of single bytes is stopped too, before its chunks weigh more than a line", async () => {
  const [near, far] = memoryPair();
  const framed = new FramedStream(near);
  const before = await heldMemory();
  for (let i = 0; i < 2_000; i++) {
    far.write("x");
    await new Promise(setImmediate);
    if (near.isPaused()) break;
  }
  assert.ok(near.isPaused());
  assert.ok((await heldMemory()) - before < 2e6);
  far.end("\nrest");
  assert.match(String(await framed.read()), /^x+$/);
  assert.equal(String(await framed.read()), "rest");
});

test("FRAME-4: a line over the limit rejects before its end has come, whether it was awaited or not", async () => {
  const stream = new PassThrough();
  const framed = new FramedStream(stream, { maxFrameBytes: 100 });
  const reading = framed.read();
  stream.write("x".repeat(101));
  await assert.rejects(reading, { code: -32600 });
  await assert.rejects(framed.read(), { code: -32600 });
});

test("FRAME-4: the limit may be raised behind the first line", async () => {
  const stream = new PassThrough();
  const framed = new FramedStream(stream, { maxFrameBytes: 10 });
  stream.write(`first\n${"x".repeat(50)}\n`);
  assert.equal(String(await framed.read()), "first");
  framed.maxFrameBytes = 50;
  assert.equal(framed.maxFrameBytes, 50);
  assert.equal((await framed.read())?.length, 50);
});

test("FRAME-3: bytes behind the preface line belong to the stream, those that arrived and those still to come", async () => {
  for (const pause of [0, 20]) {
    const [near, far] = await socketPair();
    const framed = new FramedStream(near);
    const body = Buffer.from(Array.from({ length: 300_000 }, (_, i) => i % 251));
    far.write(Buffer.concat([Buffer.from("preface\n"), body.subarray(0, 100_000)]));
    assert.equal(String(await framed.read()), "preface");
    await sleep(pause);
    const { stream, head, ended } = framed.release();
    assert.equal(ended, false);
    far.end(body.subarray(100_000));
    assert.deepEqual(Buffer.concat([head, await drain(stream)]), body);
  }
});

test("FRAME-3: a preface, bytes and an end in one packet are handed over as bytes and an end", async () => {
  const [near, far] = await socketPair();
  const framed = new FramedStream(near);
  far.end("preface\nbytes");
  assert.equal(String(await framed.read()), "preface");
  await until(() => framed.ended);
  const { head, ended } = framed.release();
  assert.equal(String(head), "bytes");
  assert.equal(ended, true);
});

test("FRAME-3: release() takes every listener off, pauses the stream, and rejects the read that waits", async () => {
  const [near] = await socketPair();
  const before = listeners(near);
  const framed = new FramedStream(near);
  const waiting = framed.read();
  const { stream } = framed.release();
  assert.equal(stream, near);
  assert.deepEqual(listeners(near), before);
  assert.equal(near.isPaused(), true);
  await assert.rejects(waiting, { code: "closed" });
  await assert.rejects(framed.read(), { code: "closed" });
});

test("FramedStream.read() that is given up loses nothing and leaves no listener on the signal", async () => {
  const stream = new PassThrough();
  const framed = new FramedStream(stream);
  const controller = new AbortController();
  const { signal } = controller;
  const added = vi.spyOn(signal, "addEventListener");
  const removed = vi.spyOn(signal, "removeEventListener");
  stream.write("begun ");
  const first = framed.read({ signal });
  stream.write("and ended\n");
  assert.equal(String(await first), "begun and ended");
  assert.equal(added.mock.calls.length, 1);
  assert.equal(removed.mock.calls.length, 1);
  const second = framed.read({ signal });
  stream.write("half");
  await sleep(5);
  controller.abort(new Error("given up"));
  await assert.rejects(second, /given up/);
  await assert.rejects(framed.read({ signal }), /given up/);
  stream.write(" and half\n");
  assert.equal(String(await framed.read()), "half and half");
});

test("FramedStream works on Unix sockets and on duplexes that are no sockets", async () => {
  for (const [near, far] of [await unixPair(), memoryPair()]) {
    const framed = new FramedStream(near);
    far.write("one\ntw");
    far.end("o\n");
    assert.deepEqual(await readAll(framed), ["one", "two"]);
    assert.equal(framed.lost.aborted, false);
    assert.equal(near.writable, true);
  }
});
