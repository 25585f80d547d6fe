import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { Daemon, LineClient, RecordingLogger, served, trackedEnvironment, until } from "./_testing.ts";
import { Environment } from "./environment.ts";

const HELLO = { jsonrpc: "2.0", id: 1, method: "hello" };
/** The beginning of a real one: record header, handshake header, version, random. */
const CLIENT_HELLO = Buffer.concat([
  Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xfc, 0x03, 0x03]),
  Buffer.from("\n0123456789abcdef"),
  Buffer.alloc(480, 0x0a),
]);

describe("the first frame", () => {
  test("CONN-1: tunnel.open makes the connection a stream, and nothing after it is read as a frame", async () => {
    const daemon = await Daemon.listen();
    const { connect } = await served(new Environment({ capabilities: [daemon.capability()] }));
    const client = await connect();
    client.send({ id: 7, method: "tunnel.open", params: { capability: "echo" } });
    expect(await client.next()).toEqual({ jsonrpc: "2.0", id: 7, result: { capability: "echo" } });
    client.send(HELLO);
    const { received } = await daemon.connection().then(async (connection) => {
      await until(() => connection.received.length > 0);
      return connection;
    });
    expect(String(received)).toBe(`${JSON.stringify(HELLO)}\n`);
    expect(client.frames).toEqual([]);
  });

  test.each(["hello", "tasks.list", "ping", "tasks.cancel", "nope", "tasks.grade"])(
    "CONN-1: a connection that begins with %s is a control session and stays one",
    async (method) => {
      const daemon = await Daemon.listen();
      const { connect } = await served(new Environment({ capabilities: [daemon.capability()] }));
      const client = await connect();
      await client.call(method);
      expect(await client.error("tunnel.open", { capability: "echo" })).toMatchObject({ code: -32601 });
      expect(await client.hello()).toMatch(/^sess-/);
      expect(daemon.connections).toEqual([]);
    },
  );

  test("CONN-3: a connection that sends no complete first frame in time is closed", async () => {
    const { connect } = await served(undefined, { prefaceTimeout: 500 });
    const [silent, half, blank, good] = await Promise.all([connect(), connect(), connect(), connect()]);
    half.socket.write('{"id":1,"method"');
    blank.socket.write("\n\r\n  \n");
    await good.hello();
    for (const client of [silent, half, blank]) {
      await client.ended;
      expect(client.received.length).toBe(0);
    }
    await sleep(50);
    expect(await good.hello()).toMatch(/^sess-/);
  });

  test("CONN-3: an empty first line is ignored", async () => {
    const { connect } = await served();
    const client = await connect();
    client.send("", "\r", "  ", HELLO);
    expect(await client.next()).toMatchObject({ id: 1, result: { env: {} } });
  });

  test("CONN-3: a first line over 64 KiB is refused, whether its end has come or not", async () => {
    const { connect } = await served();
    const [whole, endless, longest] = await Promise.all([connect(), connect(), connect()]);
    const frame = (bytes: number): string => {
      const head = '{"jsonrpc":"2.0","id":1,"method":"hello","params":{"pad":"';
      return `${head}${"x".repeat(bytes - head.length - 3)}"}}`;
    };
    longest.send(frame(64 * 1024));
    expect(await longest.next()).toMatchObject({ id: 1, result: {} });
    whole.send(frame(64 * 1024 + 1), HELLO);
    endless.socket.write(Buffer.alloc(70_000, "{"));
    for (const client of [whole, endless]) {
      const { id, error } = await client.next();
      expect(id).toBe(null);
      expect(error).toMatchObject({ code: -32600, message: expect.stringContaining("65536") });
      expect(await client.ended).toBe("end");
      expect(client.frames).toEqual([]);
    }
  });

  test("CONN-3: one connection more than maxConnections is told so and closed", async () => {
    const { connect, server } = await served(undefined, { maxConnections: 2 });
    const [first, second] = await Promise.all([connect(), connect()]);
    await Promise.all([first.hello(), second.hello()]);
    const third = await connect();
    expect(await third.next()).toMatchObject({
      jsonrpc: "2.0",
      id: null,
      error: { code: -32000, data: { type: "capacity", limit: 2 } },
    });
    expect(await third.ended).toBe("end");
    expect(server.stats().connections).toBe(2);
    expect(await first.hello()).toMatch(/^sess-/);
    second.destroy();
    await until(() => server.stats().connections === 1);
    expect(await (await connect()).hello()).toMatch(/^sess-/);
  });

  const INVALID: [what: string, line: string | Buffer, code: number][] = [
    ["garbage", "garbage", -32700],
    ["half a frame", '{"id":1,"method":"hel', -32700],
    ["invalid UTF-8", Buffer.from([0x7b, 0xff, 0xfe, 0x7d]), -32700],
    ["a byte order mark", `\u{feff}${JSON.stringify(HELLO)}`, -32700],
    ["deep nesting", `{"id":1,"method":"hello","params":${'{"a":'.repeat(600)}1${"}".repeat(601)}`, -32700],
    ["a number", "42", -32600],
    ["null", "null", -32600],
    ["a batch", JSON.stringify([HELLO]), -32600],
    ["an empty batch", "[]", -32600],
    ["a frame without a method", '{"id":1}', -32600],
    ["a method that is no string", '{"id":1,"method":5}', -32600],
    ["an id that is an object", '{"id":{},"method":"hello"}', -32600],
    ["params that are an array", '{"id":1,"method":"hello","params":[]}', -32602],
    ["a reply", '{"id":1,"result":{}}', -32600],
  ];
  test.each(INVALID)(
    "CONN-4: %s as the first line gets one error frame, and what follows drives nothing",
    async (_, line, code) => {
      const track = trackedEnvironment();
      const { connect, server } = await served(track.env);
      const client = await connect();
      client.send(line, { id: 2, method: "tasks.start", params: { id: "work", args: { k: 1 } } });
      expect(await client.next()).toMatchObject({ jsonrpc: "2.0", id: null, error: { code } });
      client.send({ id: 3, method: "tasks.start", params: { id: "work", args: { k: 2 } } });
      expect(await client.ended).toBe("end");
      expect(client.frames).toEqual([]);
      expect(track.events).toEqual([]);
      client.destroy();
      await until(() => server.stats().connections === 0);
      expect(server.stats().sessions).toEqual({ live: 0, parked: 0 });
    },
  );

  test("CONN-4: the POST of a web page drives nothing and is told what this port is", async () => {
    const track = trackedEnvironment();
    const { connect, log } = await served(track.env);
    const body = `${JSON.stringify({ id: 1, method: "tasks.start", params: { id: "work", args: { k: 1 } } })}\n`;
    const client = await connect();
    client.socket.write(
      `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nOrigin: http://evil.test\r\nContent-Length: ${body.length}\r\n\r\n${body}${body}`,
    );
    expect(await client.ended).toBe("end");
    const reply = String(client.received);
    expect(reply).toMatch(/^HTTP\/1\.1 400 Bad Request\r\n/);
    expect(reply).toMatch(/\r\n\r\nThis is an envport control port\./);
    expect(Number(/Content-Length: (\d+)/.exec(reply)![1])).toBe(reply.split("\r\n\r\n")[1]!.length);
    expect(track.events).toEqual([]);
    expect(log.complaints).toEqual(["a client speaks HTTP to the control port"]);
  });

  test.each([
    "GET / HTTP/1.1",
    "OPTIONS * HTTP/1.0\r",
    "PRI * HTTP/2.0\r",
    "CONNECT example.com:443 HTTP/1.1\r",
  ])("CONN-4: the request line %j is answered with a plain HTTP 400", async (line) => {
    const { connect } = await served();
    const client = await connect();
    client.send(line);
    await client.ended;
    expect(String(client.received)).toMatch(/^HTTP\/1\.1 400 /);
  });

  test("CONN-4: a TLS ClientHello closes the connection with one clear line in the log", async () => {
    const { connect, log } = await served();
    const client = await connect();
    client.socket.write(CLIENT_HELLO);
    await client.ended;
    expect(client.received.length).toBe(0);
    expect(log.complaints).toEqual([expect.stringContaining("speaks TLS")]);
  });
});

describe("connections side by side", () => {
  test("CONN-2: sessions and streams do not disturb one another, whatever one of them does", async () => {
    const daemon = await Daemon.listen(({ socket }) => void socket.pipe(socket));
    const track = trackedEnvironment();
    track.env.addCapability(daemon.capability());
    const { connect, server } = await served(track.env);
    const session = await connect();
    await session.result("tasks.start", { id: "work", args: { k: 1 } });
    const stream = await connect();
    stream.send({ id: 1, method: "tunnel.open", params: { capability: "echo" } });
    await stream.next();

    for (const bytes of [
      "garbage\n",
      '{"id":1,"method":"hello"}\ngarbage\n',
      "GET / HTTP/1.1\r\n\r\n",
      CLIENT_HELLO,
    ]) {
      const faulty = await connect();
      faulty.socket.write(bytes);
      await sleep(5);
      faulty.reset();
    }
    const crashing = await connect();
    expect(await crashing.error("tasks.start", { id: "throws" })).toMatchObject({ message: "on purpose" });
    crashing.reset();
    const reset = await connect();
    reset.send({ id: 1, method: "tunnel.open", params: { capability: "echo" } });
    await reset.next();
    reset.reset();

    stream.socket.write("still here");
    await until(() => String(stream.stream) === "still here");
    expect(await session.result("tasks.grade", { answer: "x" })).toEqual({ score: 1.5 });
    await until(() => server.stats().connections === 2);
  });

  test("CONN-2: five hundred connections that are reset at once leave the others alone and nothing behind", async () => {
    const { connect, server } = await served(trackedEnvironment().env);
    const good = await connect();
    await good.result("tasks.start", { id: "work", args: { k: 1 } });
    const clients = await Promise.all(Array.from({ length: 500 }, () => connect()));
    for (const [index, client] of clients.entries()) {
      if (index % 2) client.send(HELLO);
      client.reset();
    }
    await until(() => server.stats().connections === 1);
    expect(server.stats().sessions).toEqual({ live: 1, parked: 0 });
    expect(await good.result("tasks.grade")).toEqual({ score: 1.5 });
  });

  test("CONN-2: a logger that throws takes no connection with it", async () => {
    const failing = {
      log: () => {
        throw new Error("the disk is full");
      },
    };
    const printed = vi.spyOn(process.stderr, "write").mockReturnValue(true);
    onTestFinished(() => printed.mockRestore());
    const { connect } = await served(trackedEnvironment().env, { logger: failing });
    const client = await connect();
    expect(await client.error("tasks.start", { id: "throws" })).toMatchObject({ message: "on purpose" });
    expect(await client.hello()).toMatch(/^sess-/);
    expect(String(printed.mock.calls[0]![0])).toContain("the disk is full");
  });
});

describe("bytes", () => {
  test("FRAME-1: a frame ends at 0x0A and nowhere else", async () => {
    const { connect } = await served();
    const client = await connect();
    const id = "\u2028 \u2029 \u0085 a";
    client.send(`${JSON.stringify({ id, method: "hello" })}\r`);
    expect(await client.next()).toMatchObject({ id });
    client.socket.write(Buffer.from('{"id":"b",\u000b\u000c"method":"hello"}\n'));
    expect(await client.next()).toMatchObject({ id: null, error: { code: -32700 } });
    client.socket.write('\r{"id":3,"method":"hello"}\r\n');
    expect(await client.next()).toMatchObject({ id: 3, result: {} });
  });

  test("FRAME-2: frames arrive byte by byte or several in one packet", async () => {
    const { connect } = await served();
    const client = await connect();
    const text = [1, 2, 3]
      .map((id) => `${JSON.stringify({ id, method: "hello", params: { é: "€😀" } })}\n`)
      .join("");
    for (const byte of Buffer.from(text)) client.socket.write(Buffer.from([byte]));
    client.socket.write(text.replaceAll(/"id":/g, '"id":1'));
    for (const id of [1, 2, 3, 11, 12, 13]) expect(await client.next()).toMatchObject({ id, result: {} });
  });

  test("FRAME-3: bytes behind the preface belong to the stream, at every cut, and so does a greeting", async () => {
    const daemon = await Daemon.listen(({ socket }) => {
      socket.write("SSH-2.0-greeting\n");
      socket.pipe(socket, { end: false });
    });
    const { connect } = await served(new Environment({ capabilities: [daemon.capability()] }));
    const all = Buffer.from(
      '{"id":1,"method":"tunnel.open","params":{"capability":"echo"}}\n{"id":2}\n\0\r\n',
    );
    const payload = all.subarray(all.indexOf(10) + 1);
    for (const cut of [
      all.length,
      ...Array.from({ length: 16 }, (_, i) => Math.floor((i * all.length) / 16)),
    ]) {
      const client = await connect();
      client.socket.write(all.subarray(0, cut));
      await sleep(2);
      client.socket.write(all.subarray(cut));
      await until(() => client.stream.length >= "SSH-2.0-greeting\n".length + payload.length);
      expect(String(client.stream)).toBe(`SSH-2.0-greeting\n${String(payload)}`);
      client.destroy();
    }
  });

  test("FRAME-3: a preface, its payload and an end in one packet arrive whole", async () => {
    const daemon = await Daemon.listen(({ socket }) => {
      socket.on("end", () => socket.end("done"));
    });
    const { connect } = await served(new Environment({ capabilities: [daemon.capability()] }));
    const client = await connect();
    client.socket.end('{"id":1,"method":"tunnel.open","params":{"capability":"echo"}}\npayload');
    expect(await client.ended).toBe("end");
    expect(String(client.stream)).toBe("done");
    const { received } = await daemon.connection();
    expect(String(received)).toBe("payload");
  });

  test("FRAME-4: a line over the limit gets one error frame that names it, then the connection is closed", async () => {
    const track = trackedEnvironment();
    const { connect, server } = await served(track.env, { maxFrameBytes: 1_000 });
    const client = await connect();
    await client.result("tasks.start", { id: "work", args: { k: 1 } });
    const line = { id: 9, method: "hello", params: { pad: "x".repeat(2_000) } };
    client.send(line, { id: 10, method: "tasks.cancel" });
    expect(await client.next()).toMatchObject({
      id: null,
      error: { code: -32600, message: expect.stringContaining("1000") },
    });
    expect(await client.ended).toBe("end");
    expect(client.frames).toEqual([]);
    client.destroy();
    // The task is parked, not cancelled.
    await until(() => server.stats().sessions.parked === 1);
    expect(track.events).toEqual(["start 1"]);
    // The limit of the first line is never larger.
    const other = await connect();
    other.send(line);
    expect(await other.next()).toMatchObject({ id: null, error: { code: -32600 } });
  });

  test("FRAME-4: sixteen mebibytes are read, one byte more is not", async () => {
    const { connect } = await served();
    const client = await connect();
    await client.hello();
    const head = '{"id":2,"method":"ping","params":{"pad":"';
    const fill = (bytes: number): Buffer => Buffer.from(`${head}${"x".repeat(bytes - head.length - 3)}"}}\n`);
    client.socket.write(fill(16 * 1024 * 1024));
    expect(await client.next()).toMatchObject({ id: 2, result: {} });
    client.socket.write(fill(16 * 1024 * 1024 + 1));
    expect(await client.next()).toMatchObject({ id: null, error: { code: -32600 } });
    await client.ended;
  });

  test("FRAME-4: an endless line is cut at the limit and holds no more memory than that", async () => {
    const { server } = await served(undefined, { maxFrameBytes: 1024 * 1024 });
    const socket = net.connect(server.port, "127.0.0.1").on("error", () => {});
    onTestFinished(() => void socket.destroy());
    let reply = "";
    socket.on("data", (chunk) => (reply += String(chunk)));
    socket.write('{"id":1,"method":"hello"}\n');
    await until(() => reply.includes("\n"));
    const before = process.memoryUsage();
    let largest = 0;
    const chunk = Buffer.alloc(256 * 1024, "x");
    // A gibibyte, for as long as somebody takes it.
    for (let sent = 0; sent < 4096 && !socket.destroyed; sent++) {
      if (!socket.write(chunk))
        await Promise.race([new Promise((resolve) => socket.once("drain", resolve)), sleep(50)]);
      const { external } = process.memoryUsage();
      largest = Math.max(largest, external - before.external);
      if (reply.split("\n").length > 2) break;
    }
    expect(JSON.parse(reply.split("\n")[1]!)).toMatchObject({ id: null, error: { code: -32600 } });
    expect(largest).toBeLessThan(32 * 1024 * 1024);
    await until(() => server.stats().connections === 0);
  });
});

test("a client that is refused and never closes is cut off", async () => {
  const log = new RecordingLogger();
  const { server } = await served(undefined, { logger: log });
  const client = await LineClient.connect(server.port);
  client.send("garbage");
  await client.next();
  const timer = setInterval(() => client.socket.write("x"), 20);
  onTestFinished(() => clearInterval(timer));
  await until(() => server.stats().connections === 0);
});
