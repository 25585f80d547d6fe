import fc from "fast-check";
import assert from "node:assert/strict";
import { once } from "node:events";
import type { Duplex } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { test } from "vitest";
import { Peer, heldMemory, listeners, liveResources, memoryPair, socketPair, until } from "./_testing.ts";
import { EnvportError } from "./envport_error.ts";
import { ErrorCode } from "./error_code.ts";
import { FramedStream } from "./framed_stream.ts";
import type { JsonObject } from "./json.ts";
import type { RequestMessage } from "./message.ts";
import { ProtocolError } from "./protocol_error.ts";
import { RpcServer } from "./rpc_server.ts";
import type { RpcContext, RpcEnd, RpcServerOptions } from "./rpc_server.ts";

interface Rig {
  peer: Peer;
  near: Duplex;
  server: RpcServer;
  framed: FramedStream;
  ended: Promise<RpcEnd>;
  handled: RequestMessage[];
}

type Handle = (request: RequestMessage, context: RpcContext) => Promise<JsonObject> | JsonObject;

const echo: Handle = ({ method, params }) => ({ method, params });

/** A server on one end of a connection and a peer that speaks by hand on the other. */
function serve(
  [near, far]: [Duplex, Duplex],
  handle: Handle = echo,
  options: Partial<RpcServerOptions> & { maxFrameBytes?: number; first?: Buffer } = {},
): Rig {
  const handled: RequestMessage[] = [];
  const framed = new FramedStream(near, { maxFrameBytes: options.maxFrameBytes });
  const server = new RpcServer(framed, {
    handle: (request, context) => {
      handled.push(request);
      return handle(request, context);
    },
    describeError: (error) => new ProtocolError(ErrorCode.serverError, `described: ${String(error)}`),
    ...options,
  });
  return { peer: new Peer(far), near, server, framed, ended: server.run(options.first), handled };
}

const call = (id: unknown, method = "echo", params: unknown = {}): string =>
  JSON.stringify({ id, method, params });

test("FRAME-11: a reply is compact and in order, byte for byte", async () => {
  const { peer } = serve(await socketPair());
  peer.send('{"params": {"b": 1, "a": [ ]}, "method": "echo", "id": 7, "jsonrpc": "2.0"}\r');
  assert.equal(
    await peer.line(),
    '{"jsonrpc":"2.0","id":7,"result":{"method":"echo","params":{"b":1,"a":[]}}}',
  );
});

test("FRAME-9: each id comes back exactly as it was sent, once", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.oneof(fc.maxSafeInteger(), fc.string({ unit: "binary" })), { maxLength: 20 }),
      async (ids) => {
        const { peer, ended } = serve(memoryPair(), async (request) => {
          if (ids.indexOf(request.id!) % 2) await sleep(1);
          return {};
        });
        peer.send(...ids.map((id) => call(id)));
        peer.socket.end();
        const replies: unknown[] = [];
        for (let line = await peer.line(); line !== undefined; line = await peer.line()) {
          replies.push((JSON.parse(line) as { id: unknown }).id);
        }
        const sorted = (values: unknown[]): string[] => values.map((value) => JSON.stringify(value)).sort();
        assert.deepEqual(sorted(replies), sorted(ids));
        assert.equal(await ended, "ended");
      },
    ),
    { numRuns: 50 },
  );
});

test("FRAME-8: a notification is executed and never answered, not even if it fails or its params are wrong", async () => {
  const { peer, handled } = serve(await socketPair(), ({ method }) => {
    if (method === "fail") throw new Error("on purpose");
    return {};
  });
  peer.send(
    '{"method":"note"}',
    '{"id":null,"method":"fail"}',
    '{"method":"note","params":[]}',
    call(1, "last"),
  );
  assert.deepEqual(await peer.message(), { jsonrpc: "2.0", id: 1, result: {} });
  assert.deepEqual(
    handled.map(({ method }) => method),
    ["note", "fail", "last"],
  );
});

test("FRAME-6: a line that is no JSON is answered with -32700 and id null, and the session goes on", async () => {
  const { peer } = serve(await socketPair());
  for (const line of [
    "{",
    Buffer.from('{"id":1,"method":"\xff"}', "latin1"),
    `${"[".repeat(513)}${"]".repeat(513)}`,
  ]) {
    peer.send(line, call(2));
    const { id, error } = await peer.message();
    assert.deepEqual([id, (error as JsonObject)["code"]], [null, -32700]);
    assert.equal((await peer.message())["id"], 2);
  }
});

test("FRAME-6: the third such line in a row closes the connection, after what was read has been answered", async () => {
  const release = deferred();
  const { peer, ended, handled } = serve(await socketPair(), async () => {
    await release.promise;
    return {};
  });
  peer.send(call("slow"), "{", "", "{", " \t", "{", call("never read"));
  for (let i = 0; i < 3; i++) assert.equal((await peer.message())["id"], null);
  await sleep(30);
  release.resolve(undefined);
  assert.equal((await peer.message())["id"], "slow");
  assert.equal(await peer.line(), undefined);
  peer.socket.end();
  assert.equal(await ended, "closed");
  assert.deepEqual(
    handled.map(({ id }) => id),
    ["slow"],
  );
});

test("FRAME-6: two bad lines do not close it where a good one, or one that is no request, comes between", async () => {
  const { peer } = serve(await socketPair());
  peer.send("{", "{", call(1), "{", "{", "[]", "{", "{", call(2));
  const ids: unknown[] = [];
  for (let i = 0; i < 9; i++) ids.push((await peer.message())["id"]);
  assert.deepEqual(
    ids.filter((id) => id !== null),
    [1, 2],
  );
});

test("FRAME-7: what is no request is answered with its code and the id where it has one, and the session goes on", async () => {
  const { peer, handled } = serve(await socketPair());
  peer.send(
    "[]",
    '{"id":1}',
    '{"id":1.5,"method":"echo"}',
    '{"id":"a","method":"echo","params":[]}',
    "{}",
    call(9),
  );
  const replies: unknown[] = [];
  for (let i = 0; i < 6; i++) {
    const { id, error } = await peer.message();
    replies.push([id, (error as JsonObject | undefined)?.["code"]]);
  }
  assert.deepEqual(replies, [
    [null, -32600],
    [1, -32600],
    [null, -32600],
    ["a", -32602],
    [null, -32600],
    [9, undefined],
  ]);
  assert.equal(handled.length, 1);
});

test("FRAME-7: nothing that a peer sends as a line starts anything but a well-formed request", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.oneof(
          fc.json(),
          fc.string(),
          fc
            .record(
              { id: fc.jsonValue(), method: fc.jsonValue(), params: fc.jsonValue() },
              { requiredKeys: [] },
            )
            .map((value) => JSON.stringify(value)),
        ),
        { maxLength: 5 },
      ),
      async (texts) => {
        const lines = texts.map((text) => text.replaceAll("\n", " "));
        const { peer, ended, handled } = serve(memoryPair());
        peer.send(...lines);
        peer.socket.end();
        const allowed = new Set<unknown>([undefined, -32700, -32600, -32602]);
        let replies = 0;
        for (let line = await peer.line(); line !== undefined; line = await peer.line()) {
          const { error } = JSON.parse(line) as { error?: { code: number } };
          assert.ok(allowed.has(error?.code));
          replies++;
        }
        assert.notEqual(await ended, "lost");
        assert.ok(replies <= lines.length);
        for (const { method, params } of handled) {
          assert.equal(typeof method, "string");
          assert.equal(Array.isArray(params), false);
        }
      },
    ),
    { numRuns: 200 },
  );
});

test("FRAME-4: a line over the limit is answered with one -32600 that names it, id null, then the connection closes", async () => {
  const { peer, ended, handled } = serve(await socketPair(), echo, { maxFrameBytes: 1_000 });
  peer.send(call(1));
  assert.equal((await peer.message())["id"], 1);
  // No newline ever comes, and the sender goes on: the error must reach it all the same.
  peer.socket.write("x".repeat(8 * 1024 * 1024));
  const { id, error } = await peer.message();
  assert.deepEqual([id, (error as JsonObject)["code"]], [null, -32600]);
  assert.match(String((error as JsonObject)["message"]), /1000/);
  assert.equal(await peer.line(), undefined);
  assert.equal(await ended, "closed");
  assert.equal(handled.length, 1);
});

test("FRAME-5: a reply over the limit becomes a -32603 that names size and limit, and the connection stays usable", async () => {
  const unsent: unknown[] = [];
  const { peer } = serve(
    await socketPair(),
    ({ method }) => ({ text: "x".repeat(method === "big" ? 2_000 : 10) }),
    {
      maxFrameBytes: 1_000,
      onUnsent: (request, error) => void unsent.push([request.id, error.code]),
    },
  );
  peer.send(call("a", "big"), call("b", "small"));
  const { id, error } = await peer.message();
  const { code, message, data } = error as { code: number; message: string; data: JsonObject };
  assert.deepEqual([id, code, data], ["a", -32603, { type: "frame-too-large", limit: 1_000 }]);
  assert.match(message, /2\d\d\d bytes as the limit is 1000 bytes/);
  assert.equal((await peer.message())["id"], "b");
  assert.deepEqual(unsent, [["a", -32603]]);
});

test("FRAME-5: where even the id does not fit, the error goes out with id null", async () => {
  const { peer } = serve(await socketPair(), echo, { maxFrameBytes: 300 });
  peer.send(call("i".repeat(260)));
  const { id, error } = await peer.message();
  assert.deepEqual([id, (error as JsonObject)["code"]], [null, -32603]);
});

test("FRAME-10: NaN in a result is a -32000 that names the path; the peer never gets a null for it", async () => {
  const { peer } = serve(await socketPair(), () => ({ info: { scores: [1, NaN] } }));
  peer.send(call(1));
  const { id, error } = await peer.message();
  const { code, message, data } = error as { code: number; message: string; data: JsonObject };
  assert.deepEqual([id, code, data], [1, -32000, { type: "not-finite", path: "result.info.scores[1]" }]);
  assert.match(message, /result\.info\.scores\[1\]/);
});

test.each<[what: string, make: () => JsonObject]>([
  ["a bigint", () => ({ n: 1n })],
  [
    "a cycle",
    () => {
      const cycle: JsonObject = {};
      return (cycle["self"] = cycle);
    },
  ],
  [
    "too deep a nesting",
    () => {
      let value: JsonObject = {};
      for (let i = 0; i < 10_000; i++) value = { value };
      return value;
    },
  ],
])(
  "FRAME-5: a result that cannot be encoded for %s is a -32603, and the connection stays usable",
  async (_, make) => {
    const { peer } = serve(await socketPair(), ({ method }) => (method === "bad" ? make() : {}));
    peer.send(call(1, "bad"), call(2));
    const { id, error } = await peer.message();
    assert.deepEqual([id, (error as JsonObject)["code"]], [1, -32603]);
    assert.equal((await peer.message())["id"], 2);
  },
);

test("ERR-3: a ProtocolError crosses the wire as it is, any other error as it is described", async () => {
  const { peer } = serve(await socketPair(), async ({ method }) => {
    await sleep(1);
    throw method === "known"
      ? new ProtocolError(-32601, "method not found: x", { type: "t" })
      : new Error("secret");
  });
  peer.send(call(1, "known"));
  assert.deepEqual((await peer.message())["error"], {
    code: -32601,
    message: "method not found: x",
    data: { type: "t" },
  });
  peer.send(call(2, "unknown"));
  assert.deepEqual((await peer.message())["error"], { code: -32000, message: "described: Error: secret" });
});

test("SESS-4: every line before the client's end is executed and answered, an unterminated last one included", async () => {
  const { peer, ended, near } = serve(await socketPair(), async () => {
    await sleep(20);
    return {};
  });
  peer.socket.end(`${call(1)}\n${call(2)}\n${call(3)}`);
  const ids: unknown[] = [];
  for (let line = await peer.line(); line !== undefined; line = await peer.line())
    ids.push((JSON.parse(line) as { id: unknown }).id);
  assert.deepEqual(ids, [1, 2, 3]);
  assert.equal(await ended, "ended");
  await until(() => near.closed);
});

test("run() takes a first line that was read already", async () => {
  const { peer, handled } = serve(await socketPair(), echo, { first: Buffer.from(call("first")) });
  assert.equal((await peer.message())["id"], "first");
  assert.equal(handled.length, 1);
});

test("run() resolves to `lost` on a reset, also while a request is running", async () => {
  const [near, far] = await socketPair();
  const { peer, ended, framed } = serve([near, far], () => new Promise(() => {}));
  peer.send(call(1));
  await sleep(20);
  far.resetAndDestroy();
  assert.equal(await ended, "lost");
  assert.equal(framed.lost.aborted, true);
});

test("finish() reads no more, answers what was read, and closes", async () => {
  const release = deferred();
  const { peer, server, ended, handled } = serve(await socketPair(), async () => {
    await release.promise;
    return {};
  });
  peer.send(call(1));
  await until(() => handled.length === 1);
  server.finish();
  server.finish();
  peer.send(call(2));
  await sleep(20);
  release.resolve(undefined);
  assert.equal((await peer.message())["id"], 1);
  assert.equal(await peer.line(), undefined);
  peer.socket.end();
  assert.equal(await ended, "closed");
  assert.equal(handled.length, 1);
});

test("a listener that throws ends its own connection only, and is the cause of the loss", async () => {
  const fault = new Error("listener");
  const bad = serve(await socketPair(), (_, { onSent }) => {
    onSent(() => {
      throw fault;
    });
    return {};
  });
  const good = serve(await socketPair());
  bad.peer.send(call(1));
  assert.equal(await bad.ended, "lost");
  assert.equal((bad.framed.lost.reason as EnvportError).cause, fault);
  good.peer.send(call(1));
  assert.equal((await good.peer.message())["id"], 1);
});

test("an error that cannot be described ends the connection instead of the process", async () => {
  const fault = new Error("describe");
  const { peer, ended, framed } = serve(await socketPair(), () => Promise.reject(new Error("x")), {
    describeError: () => {
      throw fault;
    },
  });
  peer.send(call(1));
  assert.equal(await ended, "lost");
  assert.equal((framed.lost.reason as EnvportError).cause, fault);
});

/** Resolves to what onSent tells about the reply to the first request. */
function delivery(
  pair: [Duplex, Duplex],
  whileRunning: (peer: Peer) => void,
  id: unknown = 1,
): Promise<boolean> {
  return new Promise((resolve) => {
    const { peer } = serve(pair, async (_, { onSent }) => {
      onSent(resolve);
      whileRunning(peer);
      await sleep(30);
      return { text: "x" };
    });
    peer.send(call(id));
  });
}

test("SESS-6: a reply to a peer that reads it is delivered, also to one that has ended its direction", async () => {
  assert.equal(await delivery(await socketPair(), () => {}), true);
  assert.equal(await delivery(await socketPair(), (peer) => void peer.socket.end()), true);
  assert.equal(await delivery(memoryPair(), () => {}), true);
});

test("SESS-6: a reply to a peer that reset, or closed fully while the call was running, is not delivered", async () => {
  for (const address of [false, true]) {
    for (const leave of ["resetAndDestroy", "destroy"] as const) {
      const [near, far] = await socketPair();
      // Node caches the address of the other side once anybody has asked for it.
      if (address) assert.equal(near.remoteAddress, "127.0.0.1");
      assert.equal(await delivery([near, far], () => void far[leave]()), false);
    }
  }
});

test("SESS-6: a notification's result counts as delivered if the connection is there when it is done", async () => {
  assert.equal(await delivery(await socketPair(), () => {}, null), true);
  const [near, far] = await socketPair();
  assert.equal(await delivery([near, far], () => void far.resetAndDestroy(), null), false);
});

test("unread replies do not grow memory: a peer that reads nothing is not read from any more", async () => {
  const [near, far] = await socketPair();
  const { handled } = serve([near, far], () => ({ text: "x".repeat(10_000) }));
  const before = await heldMemory();
  const request = Buffer.from(`${call(1)}\n`.repeat(1_000));
  let sent = 0;
  const send = (): void => {
    for (let flowing = true; flowing && sent < 300_000; sent += 1_000) flowing = far.write(request);
  };
  far.pause();
  far.on("drain", send);
  send();
  let seen = -1;
  while (seen !== handled.length) {
    seen = handled.length;
    await sleep(150);
  }
  assert.ok(seen < 100_000, `${String(seen)} requests were executed`);
  assert.ok((await heldMemory()) - before < 16e6);
});

test("requests that take long do not grow memory however many others are answered meanwhile", async () => {
  const { peer, handled } = serve(memoryPair(), ({ method }) =>
    method === "hang" ? new Promise(() => {}) : {},
  );
  peer.send(...Array.from({ length: 127 }, (_, i) => call(i, "hang")));
  const round = async (): Promise<void> => {
    for (let i = 0; i < 5_000; i++) {
      peer.send(call(i));
      await peer.line();
    }
  };
  await round();
  const before = await heldMemory();
  await round();
  assert.equal(handled.length, 10_127);
  const held = (await heldMemory()) - before;
  assert.ok(held < 5e6, `${String(held)} bytes are held`);
});

test("at most 128 requests, or a mebibyte of them, are in flight; the rest waits in the socket", async () => {
  const release = deferred();
  const small = serve(await socketPair(), async () => (await release.promise, {}));
  small.peer.send(...Array.from({ length: 500 }, (_, i) => call(i)));
  const large = serve(await socketPair(), async () => (await release.promise, {}));
  large.peer.send(...Array.from({ length: 20 }, (_, i) => call(i, "echo", { text: "x".repeat(300_000) })));
  await until(() => small.handled.length === 128 && large.handled.length >= 4);
  await sleep(50);
  assert.deepEqual([small.handled.length, large.handled.length], [128, 4]);
  release.resolve(undefined);
  for (let i = 0; i < 500; i++) await small.peer.line();
  for (let i = 0; i < 20; i++) await large.peer.line();
});

test("TASK-8: the line behind a single large request is read while that one runs, as it may be its cancel", async () => {
  const { peer } = serve(await socketPair(), ({ method }) =>
    method === "large" ? new Promise(() => {}) : { ok: true },
  );
  peer.send(call(1, "large", { text: "x".repeat(3 * 1024 * 1024) }), call(2, "cancel"));
  assert.equal((await peer.message())["id"], 2);
});

test("notify() sends a notification; one that is too large, or that nobody can take, is dropped", async () => {
  const { peer, server, near } = serve(memoryPair(), echo, { maxFrameBytes: 200 });
  server.notify("note", { text: "x".repeat(300) });
  server.notify("note", { text: "x" });
  assert.equal(await peer.line(), '{"jsonrpc":"2.0","method":"note","params":{"text":"x"}}');
  assert.throws(() => server.notify("note", { score: NaN }), TypeError);
  near.destroy();
  server.notify("note", {});
});

test("notify() drops what a peer does not read instead of keeping it", async () => {
  const [near, far] = await socketPair();
  const { server } = serve([near, far]);
  far.pause();
  for (let i = 0; i < 20_000; i++) server.notify("note", { text: "x".repeat(1_000) });
  await sleep(20);
  assert.ok(near.writableLength < 2 * 1024 * 1024);
});

test("drained() resolves at once where nothing waits, and for all who wait with one listener", async () => {
  const [near, far] = await socketPair();
  const { server, peer } = serve([near, far]);
  peer.framed.release();
  await server.drained();
  far.pause();
  near.write(Buffer.alloc(32 * 1024 * 1024));
  const waiting = Array.from({ length: 50 }, () => server.drained());
  assert.equal(listeners(near)["drain"], 1);
  far.resume();
  await Promise.all(waiting);
  near.write(Buffer.alloc(64 * 1024 * 1024));
  far.pause();
  const last = server.drained();
  near.destroy();
  await last;
});

test("a server that has ended in any way leaves no socket, no timer and no listener on the loss", async () => {
  const before = liveResources();
  for (const leave of ["end", "destroy", "resetAndDestroy"] as const) {
    const [near, far] = await socketPair();
    const { peer, ended } = serve([near, far]);
    peer.send(call(1), "{");
    await peer.line();
    far[leave]();
    await ended;
    if (!near.closed) await once(near, "close");
  }
  await until(() => (liveResources()["TCPSocketWrap"] ?? 0) <= (before["TCPSocketWrap"] ?? 0));
  assert.ok((liveResources()["Timeout"] ?? 0) <= (before["Timeout"] ?? 0) + 1);
});

function deferred(): { promise: Promise<unknown>; resolve: (value: unknown) => void } {
  let resolve!: (value: unknown) => void;
  const promise = new Promise((done) => (resolve = done));
  return { promise, resolve };
}
