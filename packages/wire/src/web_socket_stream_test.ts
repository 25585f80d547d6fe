import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "vitest";
import type { WebSocketLike } from "./web_socket_stream.ts";
import { WebSocketStream } from "./web_socket_stream.ts";

/** The one end of a WebSocket; real ones are in the client's tests of transports. */
class FakeSocket extends EventEmitter implements WebSocketLike {
  readonly sent: [text: string, isBinary: boolean][] = [];
  readonly calls: string[] = [];
  /** Sends that have not been flushed. */
  readonly pending: (() => void)[] = [];
  hold = false;

  send(data: Uint8Array, { binary }: { binary: boolean }, callback: (error?: Error | null) => void): void {
    this.sent.push([Buffer.from(data).toString(), binary]);
    if (this.hold) this.pending.push(() => callback());
    else callback();
  }
  close(code?: number): void {
    this.calls.push(`close ${String(code)}`);
  }
  terminate(): void {
    this.calls.push("terminate");
  }
  pause(): void {
    this.calls.push("pause");
  }
  resume(): void {
    this.calls.push("resume");
  }
  ping(): void {
    this.calls.push("ping");
  }
}

test("CONN-5: frames go out as text, bytes as binary, an end as an empty text", async () => {
  const socket = new FakeSocket();
  const stream = new WebSocketStream(socket);
  socket.hold = true;
  stream.write("one\n");
  stream.write("two\n");
  stream.beginBytes();
  stream.write("bytes");
  stream.end();
  while (socket.pending.length > 0) {
    socket.pending.shift()!();
    await sleep(0);
  }
  assert.deepEqual(socket.sent, [
    ["one\n", false],
    ["two\n", false],
    ["bytes", true],
    ["", false],
  ]);
  stream.destroy();
});

test("CONN-5: a text message is whole lines, and an empty one the end", async () => {
  const socket = new FakeSocket();
  const stream = new WebSocketStream(socket);
  socket.emit("message", Buffer.from("one"), false);
  socket.emit("message", Buffer.from("two\nthree\n"), false);
  socket.emit("message", Buffer.from("bytes"), true);
  socket.emit("message", Buffer.alloc(0), false);
  socket.emit("message", Buffer.from("too late"), true);
  const chunks: string[] = [];
  for await (const chunk of stream) chunks.push(String(chunk));
  assert.equal(chunks.join(""), "one\ntwo\nthree\nbytes");
});

test("both ends ended: the WebSocket is closed in good order", async () => {
  const socket = new FakeSocket();
  const stream = new WebSocketStream(socket);
  stream.resume().end();
  socket.emit("message", Buffer.alloc(0), false);
  await once(stream, "close");
  assert.ok(socket.calls.includes("close 1000"));
  assert.ok(!socket.calls.includes("terminate"));
});

test("a close without an end is a reset, one with 1000 is an end", async () => {
  const cut = new FakeSocket();
  const stream = new WebSocketStream(cut).on("error", () => {});
  cut.emit("close", 1006);
  await once(stream, "close").catch(() => {});
  assert.ok(stream.errored && "code" in stream.errored);
  assert.equal(stream.errored.code, "ECONNRESET");

  const closed = new FakeSocket();
  const other = new WebSocketStream(closed);
  closed.emit("close", 1000);
  other.resume();
  await once(other, "end");
  assert.equal(other.errored, null);
});

test("text where bytes are due ends the connection", async () => {
  const socket = new FakeSocket();
  const stream = new WebSocketStream(socket).on("error", () => {});
  socket.emit("message", Buffer.from("bytes"), true);
  socket.emit("message", Buffer.from("text"), false);
  await new Promise((resolve) => stream.once("close", resolve));
  assert.match(String(stream.errored), /text message/);
  assert.ok(socket.calls.includes("terminate"));
});

test("who does not answer a ping is given up", async () => {
  const socket = new FakeSocket();
  const stream = new WebSocketStream(socket, { pingInterval: 5 });
  socket.on("newListener", () => {});
  await once(stream, "close");
  assert.deepEqual(socket.calls.slice(0, 2), ["ping", "terminate"]);

  const alive = new FakeSocket();
  const kept = new WebSocketStream(alive, { pingInterval: 5 });
  alive.ping = () => void setImmediate(() => alive.emit("pong"));
  await sleep(60);
  assert.equal(kept.destroyed, false);
  kept.destroy();
});
