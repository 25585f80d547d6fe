import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished, test } from "vitest";
import { listeners, memoryPair, observe, sendAndReset, socketPair, unixPair, until } from "./_testing.ts";
import { SOCKET_OPTIONS, resetStream, wasReset } from "./byte_stream.ts";

test("TUN-5: every TCP leg has keepalive, no delay, and directions that end one by one", () => {
  const { allowHalfOpen, keepAlive, noDelay } = SOCKET_OPTIONS;
  assert.deepEqual(
    { allowHalfOpen, keepAlive, noDelay },
    { allowHalfOpen: true, keepAlive: true, noDelay: true },
  );
});

test.each([1, 1_000, 65_536, 300_000])(
  "TUN-3: wasReset() tells a reset behind %d bytes from an end",
  async (bytes) => {
    const [near, far] = await socketPair();
    // Anybody may have asked for the address before, to log it.
    assert.equal(near.remoteAddress, "127.0.0.1");
    const verdict = new Promise<string>((resolve) => {
      near.on("end", () => {
        resolve(wasReset(near) ? "reset" : "end");
      });
      near.on("close", () => {
        resolve("error");
      });
    });
    near.resume();
    await sendAndReset(far, bytes);
    assert.notEqual(await verdict, "end");
    await until(() => near.closed);
    assert.ok(near.errored);
  },
);

test("TUN-3: wasReset() is false for a clean end, sends nothing and leaves nothing behind", async () => {
  const [near, far] = await socketPair();
  const observed = observe(far);
  far.end("last words");
  near.resume();
  await once(near, "end");
  const before = listeners(near);
  for (let i = 0; i < 3; i++) assert.equal(wasReset(near), false);
  await sleep(20);
  assert.deepEqual(listeners(near), before);
  assert.equal(near.bytesWritten, 0);
  near.end("answer");
  assert.equal(await observed.ending, "end");
  assert.equal(String(Buffer.concat(observed.chunks)), "answer");
});

test("wasReset() sees that a peer which closed fully does not read what was sent after its end", async () => {
  const [near, far] = await socketPair();
  near.resume();
  far.resume();
  far.destroy();
  await once(near, "end");
  assert.equal(wasReset(near), false);
  near.write("nobody reads this");
  await sleep(50);
  assert.equal(wasReset(near), true);
});

test("wasReset() with bytes still to be written does not queue behind them", async () => {
  const [near] = await socketPair();
  near.write(Buffer.alloc(32 * 1024 * 1024));
  assert.ok(near.writableLength > 0);
  assert.equal(wasReset(near), false);
});

test("wasReset() is false for what is no TCP connection and for what is destroyed", async () => {
  const [unix] = await unixPair();
  const [memory] = memoryPair();
  const [gone] = await socketPair();
  gone.destroy();
  assert.deepEqual([unix, memory, gone, new PassThrough()].map(wasReset), [false, false, false, false]);
});

test("resetStream() lets what was written leave, then resets", async () => {
  const [near, far] = await socketPair();
  const observed = observe(far);
  near.write(Buffer.alloc(48 * 1024 * 1024));
  resetStream(near);
  assert.equal(near.destroyed, false);
  assert.equal(await observed.ending, "error");
  assert.ok(near.destroyed);
  // What the kernel still held is lost, as with any reset.
  assert.ok(observed.bytes > 16 * 1024 * 1024);
});

test("resetStream() does not wait for its time-out where little is left to write", async () => {
  const [near, far] = await socketPair();
  // Fill the kernel's buffers; what then stays in Node is below the high-water mark, so that no `drain` will come.
  far.pause();
  while (near.write(Buffer.alloc(64 * 1024)));
  await until(() => near.writableNeedDrain);
  far.resume();
  await until(() => near.writableLength === 0);
  near.cork();
  near.write("a little");
  assert.ok(near.writableLength > 0 && !near.writableNeedDrain);
  const start = Date.now();
  resetStream(near);
  near.uncork();
  await once(near, "close");
  assert.ok(Date.now() - start < 1_500);
});

test("resetStream() gives up after its time-out where the other side does not read", async () => {
  const [near, far] = await socketPair();
  far.pause();
  near.write(Buffer.alloc(64 * 1024 * 1024));
  const start = Date.now();
  resetStream(near, { flushTimeout: 200 });
  await once(near, "close");
  assert.ok(Date.now() - start >= 190);
});

test("resetStream() with no time to flush resets at once", async () => {
  const [near, far] = await socketPair();
  const observed = observe(far);
  near.write(Buffer.alloc(64 * 1024 * 1024));
  resetStream(near, { flushTimeout: 0 });
  assert.ok(near.destroyed);
  assert.equal(await observed.ending, "error");
});

test("resetStream() destroys a Unix socket, which has no reset", async () => {
  const [near, far] = await unixPair();
  const observed = observe(far);
  near.write("x");
  resetStream(near);
  await observed.ending;
  assert.ok(near.destroyed);
});

test("resetStream() destroys a socket that is still connecting instead of waiting for the connection", () => {
  const socket = net.connect({ host: "127.0.0.1", port: 1 });
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  resetStream(socket);
  assert.ok(socket.destroyed);
});

test("resetStream() uses the reset that a transport brings along", () => {
  const calls: string[] = [];
  const stream = Object.assign(new PassThrough(), { resetAndDestroy: () => calls.push("reset") });
  resetStream(stream);
  assert.deepEqual(calls, ["reset"]);
  assert.ok(stream.destroyed);
});

test("resetStream() leaves a destroyed stream alone, and may be called twice", async () => {
  const [near, far] = await socketPair();
  near.write(Buffer.alloc(48 * 1024 * 1024));
  far.resume();
  resetStream(near);
  resetStream(near);
  await until(() => near.closed);
  resetStream(near);
});
