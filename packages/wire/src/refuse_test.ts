import assert from "node:assert/strict";
import { once } from "node:events";
import { test } from "vitest";
import { Peer, liveResources, memoryPair, socketPair, until } from "./_testing.ts";
import { FramedStream } from "./framed_stream.ts";
import { ProtocolError } from "./protocol_error.ts";
import { linger, refuse } from "./refuse.ts";

const error = new ProtocolError(-32600, "frame too large");

test("CONN-4: refuse() sends one error frame and an end; what the other side says is never read", async () => {
  const [near, far] = await socketPair();
  const peer = new Peer(far);
  peer.send("GET / HTTP/1.1");
  const refusing = refuse(new FramedStream(near), error);
  assert.equal(
    await peer.line(),
    '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"frame too large"}}',
  );
  assert.equal(await peer.line(), undefined);
  far.end("more");
  await refusing;
  assert.ok(near.closed);
});

test("FRAME-4: the error reaches a peer that goes on sending megabytes, and the connection is closed after half a second", async () => {
  const [near, far] = await socketPair();
  const peer = new Peer(far);
  const flood = (): void => {
    while (far.writable && far.write(Buffer.alloc(256 * 1024)));
  };
  far.on("drain", flood);
  flood();
  const refusing = refuse(new FramedStream(near), error);
  assert.match(String(await peer.line()), /frame too large/);
  await refusing;
  assert.ok(near.closed);
  assert.ok(near.bytesRead > 256 * 1024);
});

test("TUN-2: refuse() answers with the id where there is one", async () => {
  const [near, far] = memoryPair();
  void refuse(new FramedStream(near), error, 7);
  assert.equal((await new Peer(far).message())["id"], 7);
  far.end();
  await once(near, "close");
});

test("refuse() and linger() of a connection that is gone resolve", async () => {
  const [near] = await socketPair();
  const framed = new FramedStream(near);
  near.destroy();
  await refuse(framed, error);
  await linger(framed);
});

test("linger() closes in good order with a peer that ends, and leaves nothing behind", async () => {
  const before = liveResources();
  const [near, far] = await socketPair();
  near.write("bye");
  const lingering = linger(new FramedStream(near));
  far.resume().end();
  await lingering;
  assert.equal(near.errored, null);
  await until(() => (liveResources()["TCPSocketWrap"] ?? 0) <= (before["TCPSocketWrap"] ?? 0));
});
