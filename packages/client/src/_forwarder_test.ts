import { Environment } from "@envport/server";
import type { Server } from "@envport/server";
import { EnvportError, ProtocolError, parseCapabilityUrl, wasReset } from "@envport/wire";
import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { onTestFinished, test, vi } from "vitest";
import type { FakeConnection } from "./_testing.ts";
import {
  HELLO,
  codeOf,
  connected,
  daemon,
  fakeServer,
  freePort,
  memoryLogger,
  rejection,
  served,
  until,
} from "./_testing.ts";
import type { Client, ClientEvents } from "./client.ts";
import { connect } from "./connect.ts";

/** Serves an environment whose bindings are these urls, by name. */
async function publish(urls: Record<string, string>): Promise<Server> {
  const env = new Environment();
  for (const [name, url] of Object.entries(urls))
    env.addCapability({ name, protocol: `${name}/1`, url, params: {} });
  return await served(env, { dialTimeout: 1_000 });
}

/** Connects to a binding by its routed url, as a protocol client would. */
async function dial(client: Client, name: string): Promise<net.Socket> {
  const { host, port } = parseCapabilityUrl(client.binding(name).url);
  const socket = net.connect({ host, port: port!, allowHalfOpen: true });
  socket.on("error", () => {});
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return socket;
}

/** All that a socket receives; its own direction stays open. */
async function buffer(socket: net.Socket): Promise<Buffer> {
  const chunks: Buffer[] = [];
  socket.on("data", (chunk: Buffer) => chunks.push(chunk));
  await once(socket, "end");
  return Buffer.concat(chunks);
}

/** How a socket has ended: `reset`, `end` or the code of another error. */
function ending(socket: net.Socket): Promise<string> {
  socket.resume();
  return new Promise((resolve) => {
    socket.once("error", (error) => resolve(codeOf(error) === "ECONNRESET" ? "reset" : codeOf(error)));
    socket.once("end", () => resolve(wasReset(socket) ? "reset" : "end"));
  });
}

/** A fake environment with one binding, `echo`, whose tunnels follow a script. */
async function fakeTunnels(tunnel: (connection: FakeConnection, id: number) => unknown): Promise<{
  client: Client;
  events: ClientEvents["tunnel:refused"][0][];
  logger: ReturnType<typeof memoryLogger>;
}> {
  const bindings = [{ name: "echo", protocol: "echo/1", url: "tcp://127.0.0.1:7", params: {} }];
  const server = await fakeServer(async (connection, index) => {
    if (index === 0) {
      await connection.hello({ ...HELLO, bindings });
      return await connection.gone();
    }
    const { id, params } = await connection.expect("tunnel.open");
    assert.deepEqual(params, { capability: "echo" });
    await tunnel(connection, id);
  });
  const logger = memoryLogger();
  const client = await connected(server.url, { logger });
  const events: ClientEvents["tunnel:refused"][0][] = [];
  client.on("tunnel:refused", (event) => events.push(event));
  return { client, events, logger };
}

test("CLI-2: every binding has a forwarder of its own on 127.0.0.1", async () => {
  const [one, two] = [
    await daemon((socket) => socket.end("one")),
    await daemon((socket) => socket.end("two")),
  ];
  const server = await publish({ one: `tcp://127.0.0.1:${one.port}`, two: `tcp://127.0.0.1:${two.port}` });
  const client = await connected(server.url);
  const urls = ["one", "two"].map((name) => parseCapabilityUrl(client.binding(name).url));
  assert.deepEqual(
    urls.map(({ host }) => host),
    ["127.0.0.1", "127.0.0.1"],
  );
  assert.equal(new Set([one.port, two.port, server.port, ...urls.map(({ port }) => port)]).size, 5);
  for (const name of ["one", "two"]) assert.equal(String(await buffer(await dial(client, name))), name);
});

test.each([
  ["ssh://agent@127.0.0.1:22", "ssh://agent@127.0.0.1:PORT"],
  ["ssh://agent:secret@10.0.0.7:22/home?a=b#c", "ssh://agent@127.0.0.1:PORT/home?a=b#c"],
  ["ws://[::1]:9222/devtools/browser/Ab?x=%20", "ws://127.0.0.1:PORT/devtools/browser/Ab?x=%20"],
  ["https://tools.example.com/mcp", "https://127.0.0.1:PORT/mcp"],
  ["http://127.0.0.1:80/mcp", "http://127.0.0.1:PORT/mcp"],
  ["rfb://:secret@127.0.0.1:5900", "rfb://127.0.0.1:PORT"],
])("CLI-2: the routed url of %s is %s", async (url, routed) => {
  const client = await connected((await publish({ it: url })).url);
  assert.equal(client.binding("it").url.replace(/(127\.0\.0\.1):\d+/, "$1:PORT"), routed);
  assert.equal(client.bindings[0]!.url, url);
});

test("CLI-2: binding() keeps name, protocol and params, and lists what there is where it finds nothing", async () => {
  const env = new Environment();
  env.addCapability({
    name: "screen",
    protocol: "rfb/3.8",
    url: "rfb://127.0.0.1:5900",
    params: { password: "x" },
  });
  const client = await connected((await served(env)).url);
  const { url: _, ...rest } = client.binding("rfb");
  assert.deepEqual(rest, { name: "screen", protocol: "rfb/3.8", params: { password: "x" } });
  assert.throws(() => client.binding("ssh"), {
    code: "unknown-binding",
    message: /available are screen \(rfb\/3\.8\)/,
  });
});

test("a url that cannot be read is an error for who asks for that binding, and for nobody else", async () => {
  const bindings = [
    { name: "odd", protocol: "odd/1", url: "no url", params: {} },
    { name: "good", protocol: "good/1", url: "tcp://127.0.0.1:1", params: {} },
  ];
  const server = await fakeServer((connection) =>
    connection.hello({ ...HELLO, bindings }).then(() => connection.gone()),
  );
  for (const route of ["tunnel", "direct"] as const) {
    const client = await connected(server.url, { route });
    assert.throws(() => client.binding("odd"), TypeError);
    assert.match(client.binding("good").url, /^tcp:\/\/127/);
  }
});

test("FRAME-3: bytes go both ways unchanged, in any amount", async () => {
  const echo = await daemon((socket) => socket.pipe(socket));
  const client = await connected((await publish({ echo: `tcp://127.0.0.1:${echo.port}` })).url);
  const sent = Buffer.alloc(3_000_000, "0123456789\n{}");
  const sockets = await Promise.all([1, 2, 3].map(() => dial(client, "echo")));
  const received = sockets.map((socket) => buffer(socket));
  for (const socket of sockets) socket.end(sent);
  for (const bytes of await Promise.all(received)) assert.ok(bytes.equals(sent));
});

test("FRAME-3: what the daemon says first is not lost where it is glued to the reply", async () => {
  const { client } = await fakeTunnels(async ({ socket }, id) => {
    socket.write(`{"jsonrpc":"2.0","id":${id},"result":{"capability":"echo"}}\nSSH-2.0-fake\r\n`);
    socket.end("more");
  });
  assert.equal(String(await buffer(await dial(client, "echo"))), "SSH-2.0-fake\r\nmore");
});

test("FRAME-3: what the local side says before the tunnel is there is not lost", async () => {
  const { client } = await fakeTunnels(async (connection, id) => {
    await sleep(30);
    connection.send({ id, result: {} });
    assert.deepEqual(await connection.next(), { method: "early", id: 1 });
    connection.socket.end();
  });
  const socket = await dial(client, "echo");
  socket.end('{"method":"early","id":1}\n');
  assert.equal(await ending(socket), "end");
});

test("FRAME-3: a tunnel that ends with the reply ends the local connection in order", async () => {
  const { client, events } = await fakeTunnels(({ socket }, id) => {
    socket.end(`{"jsonrpc":"2.0","id":${id},"result":{}}\n`);
  });
  assert.equal(await ending(await dial(client, "echo")), "end");
  assert.deepEqual(events, []);
});

test("TUN-3: a half-close passes in either direction, and the other one keeps flowing", async () => {
  const asks = await daemon((socket) => {
    // Answers only when it has heard everything.
    void buffer(socket).then(async (heard) => {
      await sleep(20);
      socket.end(`heard ${heard}`);
    });
  });
  const tells = await daemon((socket) => {
    socket.end("bye");
    void buffer(socket).then((heard) => void heardLater.push(String(heard)));
  });
  const heardLater: string[] = [];
  const server = await publish({
    asks: `tcp://127.0.0.1:${asks.port}`,
    tells: `tcp://127.0.0.1:${tells.port}`,
  });
  const client = await connected(server.url);
  const asking = await dial(client, "asks");
  asking.end("a question");
  assert.equal(String(await buffer(asking)), "heard a question");
  const listening = await dial(client, "tells");
  assert.equal(String(await buffer(listening)), "bye");
  listening.write("still here, ");
  await sleep(20);
  listening.end("done");
  await until(() => heardLater.length > 0, "the daemon has heard the end");
  assert.deepEqual(heardLater, ["still here, done"]);
});

test("TUN-3: a reset of the daemon resets the local connection, one behind data too", async () => {
  const resets = await daemon((socket) => socket.once("data", () => void socket.resetAndDestroy()));
  const tells = await daemon((socket) => {
    socket.once("data", () => socket.write(Buffer.alloc(300_000), () => void socket.resetAndDestroy()));
  });
  const server = await publish({
    resets: `tcp://127.0.0.1:${resets.port}`,
    tells: `tcp://127.0.0.1:${tells.port}`,
  });
  const client = await connected(server.url);
  for (const name of ["resets", "tells"]) {
    const socket = await dial(client, name);
    socket.write("go");
    assert.equal(await ending(socket), "reset");
  }
});

test("TUN-3: a reset of the local side reaches the daemon", async () => {
  const endings: string[] = [];
  const echo = await daemon((socket) => {
    socket.pipe(socket);
    void ending(socket).then((how) => endings.push(how));
  });
  const client = await connected((await publish({ echo: `tcp://127.0.0.1:${echo.port}` })).url);
  const socket = await dial(client, "echo");
  socket.write("hello");
  await once(socket, "data");
  socket.resetAndDestroy();
  await until(() => endings.length > 0, "the daemon has noticed");
  assert.deepEqual(endings, ["reset"]);
});

test("CLI-8: a refused tunnel is told and logged with the reason, and its local connection is reset", async () => {
  const port = await freePort();
  const server = await publish({ down: `tcp://127.0.0.1:${port}` });
  const logger = memoryLogger();
  const client = await connected(server.url, { logger });
  const events: ClientEvents["tunnel:refused"][0][] = [];
  client.on("tunnel:refused", (event) => events.push(event));
  const socket = await dial(client, "down");
  assert.equal(await ending(socket), "reset");
  assert.equal(events.length, 1);
  const { binding, error } = events[0]!;
  assert.equal(binding, "down");
  assert.ok(error instanceof ProtocolError);
  assert.equal(error.data?.type, "dial-failed");
  assert.match(error.message, /ECONNREFUSED/);
  assert.deepEqual(logger.entries, [
    { level: "warn", message: "a tunnel to 'down' was refused", fields: { reason: error.message } },
  ]);
  await client.ping();
});

test.each<[string, string, (connection: FakeConnection, id: number) => unknown]>([
  ["closes", "connection-lost", ({ socket }) => socket.end()],
  ["resets", "connection-lost", (connection) => connection.reset()],
  ["sends half a frame", "-32700", ({ socket }) => socket.end('{"id":1,')],
  [
    "answers to another id",
    "protocol-violation",
    (connection, id) => connection.send({ id: id + 1, result: {} }),
  ],
  ["sends something else", "-32700", ({ socket }) => socket.write("SSH-2.0-daemon\r\n")],
  ["answers neither way", "protocol-violation", (connection, id) => connection.send({ id })],
  [
    "refuses without an id",
    "-32600",
    (connection) => connection.send({ id: null, error: { code: -32600, message: "no" } }),
  ],
])("CLI-8: a server that %s instead of opening a tunnel has refused it", async (_, code, answer) => {
  const { client, events, logger } = await fakeTunnels(async (connection, id) => {
    await answer(connection, id);
    await connection.gone();
  });
  assert.equal(await ending(await dial(client, "echo")), "reset");
  assert.deepEqual(
    events.map(({ binding, error }) => [binding, codeOf(error)]),
    [["echo", code]],
  );
  assert.equal(logger.entries.length, 1);
});

test("CLI-8: a control port that is gone refuses tunnels, and the forwarder lives on", async () => {
  const echo = await daemon((socket) => socket.end("hi"));
  const server = await publish({ echo: `tcp://127.0.0.1:${echo.port}` });
  const client = await connected(server.url);
  const events: unknown[] = [];
  client.on("tunnel:refused", ({ error }) => events.push(codeOf(error)));
  await server.close();
  for (let i = 0; i < 2; i++) assert.equal(await ending(await dial(client, "echo")), "reset");
  assert.deepEqual(events, ["ECONNREFUSED", "ECONNREFUSED"]);
});

test("TUN-5: a local side that leaves while the tunnel is being opened gives it up, and that is no refusal", async () => {
  let gone = false;
  let asked!: () => void;
  const opening = new Promise<void>((resolve) => (asked = resolve));
  const { client, events } = await fakeTunnels(async (connection) => {
    asked();
    await connection.gone();
    gone = true;
  });
  const socket = await dial(client, "echo");
  await opening;
  socket.resetAndDestroy();
  await until(() => gone, "the server has seen it leave");
  assert.deepEqual(events, []);
});

test("CLI-2: close() frees the ports and resets what is open, also what is being opened", async () => {
  const echo = await daemon((socket) => socket.pipe(socket));
  const server = await publish({ echo: `tcp://127.0.0.1:${echo.port}` });
  const client = await connected(server.url);
  const { port } = parseCapabilityUrl(client.binding("echo").url);
  const open = await dial(client, "echo");
  open.write("x");
  await once(open, "data");
  const ended = ending(open);
  await client.close();
  assert.equal(await ended, "reset");
  const listener = net.createServer().listen(port, "127.0.0.1");
  await once(listener, "listening");
  await new Promise((resolve) => listener.close(resolve));

  let asked = false;
  const hanging = await fakeTunnels((connection) => {
    asked = true;
    return connection.gone();
  });
  const opening = await dial(hanging.client, "echo");
  const outcome = ending(opening);
  await until(() => asked, "the server has been asked");
  await hanging.client.close();
  assert.equal(await outcome, "reset");
  assert.deepEqual(hanging.events, []);
});

test("binding() of a closed client is an error", async () => {
  const client = await connected((await publish({ echo: "tcp://127.0.0.1:7" })).url);
  await client.close();
  assert.throws(
    () => client.binding("echo"),
    (error) => error instanceof EnvportError && error.code === "closed",
  );
});

test("CLI-3: bindings on public addresses are used as they are where the route is direct", async () => {
  const urls = {
    public: "https://agent:x@tools.example.com/mcp",
    local: "http://127.0.0.1:80/",
    lan: "ws://10.1.1.1:9/",
  };
  const { url } = await publish(urls);
  const direct = await connected(url, { route: "direct" });
  assert.equal(direct.binding("public").url, urls.public);
  for (const name of ["local", "lan"]) assert.match(direct.binding(name).url, /:\/\/127\.0\.0\.1:\d{2,5}\//);
  assert.notEqual(direct.binding("local").url, urls.local);
  const tunnel = await connected(url);
  assert.match(tunnel.binding("public").url, /^https:\/\/agent@127\.0\.0\.1:\d+\/mcp$/);
});

test("a binding without a port is forwarded, and the server says that it cannot dial it", async () => {
  const client = await connected((await publish({ it: "tcp://127.0.0.1" })).url);
  const refused = new Promise<Error>((resolve) =>
    client.once("tunnel:refused", ({ error }) => resolve(error)),
  );
  assert.equal(await ending(await dial(client, "it")), "reset");
  assert.match((await refused).message, /no host and port/);
});

/** The listeners that are made from now on, changed before anybody uses them. */
function onListener(change: (listener: net.Server) => void): void {
  const { createServer } = net;
  const spy = vi.spyOn(net, "createServer").mockImplementation((...args: Parameters<typeof createServer>) => {
    const listener = createServer(...args);
    change(listener);
    return listener;
  });
  onTestFinished(() => spy.mockRestore());
}

const outOfFiles = (): Error => Object.assign(new Error("too many open files"), { code: "EMFILE" });

test("a port that cannot be bound fails connect(), which leaves no connection behind", async () => {
  let gone = false;
  const binding = { name: "echo", protocol: "echo/1", url: "tcp://127.0.0.1:7" };
  const server = await fakeServer(async (connection) => {
    await connection.hello({ ...HELLO, bindings: [binding, { ...binding, name: "other" }] });
    await connection.gone();
    gone = true;
  });
  let made = 0;
  onListener((listener) => {
    if (made++ > 0) return;
    listener.listen = () => {
      process.nextTick(() => listener.emit("error", outOfFiles()));
      return listener;
    };
  });
  assert.equal((await rejection(connect(server.url, { logger: memoryLogger() }))).code, "EMFILE");
  await until(() => gone, "the server has seen it leave");
});

test("CLI-8: connections that cannot be accepted are told of, each of them", async () => {
  const listeners: net.Server[] = [];
  const { url } = await publish({ echo: "tcp://127.0.0.1:7" });
  onListener((listener) => listeners.push(listener));
  const client = await connected(url);
  const events: unknown[] = [];
  client.on("tunnel:refused", ({ binding, error }) => events.push([binding, codeOf(error)]));
  for (let i = 0; i < 2; i++) listeners[0]!.emit("error", outOfFiles());
  assert.deepEqual(events, [
    ["echo", "EMFILE"],
    ["echo", "EMFILE"],
  ]);
});
