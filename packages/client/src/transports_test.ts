import { Environment, serve } from "@envport/server";
import type { ServeOptions, Server } from "@envport/server";
import { SOCKET_OPTIONS } from "@envport/wire";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, lstatSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import http from "node:http";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { WebSocket } from "ws";
import { freePort, rejection } from "./_testing.ts";
import { makeCertificates } from "./_testing_certificates.ts";
import type { ConnectOptions } from "./connect.ts";
import { connect } from "./connect.ts";

const { ca, server: serverKeys, client: clientKeys } = makeCertificates();
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "envport-test-"));
});
afterAll(() => rm(folder, { recursive: true }));

/** What a daemon does with a connection, by the first byte that it gets. */
async function startDaemon(): Promise<number> {
  const daemon = net.createServer(SOCKET_OPTIONS, (socket) => {
    socket.on("error", () => {});
    socket.once("data", (chunk) => {
      const [order] = chunk;
      if (order === "r".charCodeAt(0)) socket.resetAndDestroy();
      else if (order === "g".charCodeAt(0)) socket.end("goodbye");
      else {
        socket.write(chunk);
        socket.pipe(socket);
      }
    });
  });
  daemon.listen(0, "127.0.0.1");
  await once(daemon, "listening");
  onTestFinished(() => void daemon.close());
  return (daemon.address() as net.AddressInfo).port;
}

async function served(options: ServeOptions): Promise<Server> {
  const env = new Environment({ name: "everywhere" });
  const url = `tcp://127.0.0.1:${String(await startDaemon())}`;
  env.addCapability({ name: "echo", protocol: "tcp/1", url, params: {} });
  env.template("mirror").run(async function* () {
    const answer = String(yield "Say something.");
    yield { score: 1, answer };
  });
  env.template("endless").run(async function* (_args, { signal }) {
    await once(signal, "abort");
    yield yield "too late";
  });
  const server = await serve(env, { logger: { log: () => {} }, ...options });
  onTestFinished(() => server.close());
  return server;
}

const secured = { tls: serverKeys };
const trusting = { tls: { ca } };
const TRANSPORTS: [name: string, listen: () => string, serve: ServeOptions, connect: ConnectOptions][] = [
  ["tcp, IPv4", () => "tcp://127.0.0.1:0", {}, {}],
  ["tcp, IPv6", () => "tcp://[::1]:0", {}, {}],
  ["unix", () => `unix://${folder}/${randomBytes(4).toString("hex")}/control.sock`, {}, {}],
  ["tls", () => "tls://127.0.0.1:0", secured, trusting],
  [
    "tls with the client's certificate",
    () => "tls://127.0.0.1:0",
    { tls: { ...serverKeys, ca } },
    { tls: { ca, ...clientKeys } },
  ],
  ["ws", () => "ws://127.0.0.1:0", {}, {}],
  ["ws with a path", () => "ws://127.0.0.1:0/environments/one", {}, {}],
  ["wss", () => "wss://127.0.0.1:0/", secured, trusting],
];

describe.each(TRANSPORTS)("%s", (name, listen, serveOptions, connectOptions) => {
  const start = (): Promise<Server> => served({ listen: listen(), ...serveOptions });
  const dial = async (url: string): Promise<net.Socket> => {
    const client = await connect(url, connectOptions);
    onTestFinished(() => client.close());
    const { port } = new URL(client.binding("echo").url);
    const socket = net.connect({ host: "127.0.0.1", port: Number(port), ...SOCKET_OPTIONS });
    onTestFinished(() => void socket.destroy());
    return socket;
  };

  test("CONN-5: a session starts, grades, cancels and answers pings", async () => {
    const server = await start();
    await using client = await connect(server.url, connectOptions);
    const task = await client.start("mirror");
    expect(await task.grade("hello")).toEqual({ score: 1, answer: "hello" });
    const endless = rejection(client.start("endless"));
    await client.ping();
    await client.cancel();
    expect(await endless).toMatchObject({ code: -32000 });
    await client.bye();
  });

  test("CONN-5: frames of megabytes go both ways", async () => {
    const server = await start();
    await using client = await connect(server.url, connectOptions);
    const task = await client.start("mirror");
    const answer = "ä".repeat(2_500_000);
    expect((await task.grade(answer))["answer"]).toBe(answer);
  });

  test("CONN-5: a stream carries bytes both ways, and each direction ends by itself", async () => {
    const socket = await dial((await start()).url);
    const bytes = randomBytes(5_000_000);
    bytes[0] = 0;
    socket.end(bytes);
    expect((await buffer(socket)).equals(bytes)).toBe(true);
  });

  test("CONN-5: an end of the daemon's arrives as an end, and what is said after it arrives, too", async () => {
    const socket = await dial((await start()).url);
    socket.write("go");
    let text = "";
    socket.on("data", (chunk) => (text += String(chunk)));
    await once(socket, "end");
    expect(text).toBe("goodbye");
    socket.end("more");
    await once(socket, "close");
    expect(socket.errored).toBeNull();
  });

  // A unix socket has no such thing: there a cut looks like an end.
  if (name !== "unix") {
    test("CONN-5: a reset of the daemon's arrives as a reset", async () => {
      const socket = await dial((await start()).url);
      socket.write("reset");
      const error = await new Promise<NodeJS.ErrnoException>((resolve) => socket.once("error", resolve));
      expect(error.code).toBe("ECONNRESET");
    });
  }

  test("CONN-5: a stalled reader stops the sender, and loses nothing", async () => {
    const server = await start();
    const socket = await dial(server.url);
    // More than the kernel's buffers of all legs, there and back, hold together.
    const bytes = Buffer.alloc(120_000_000, randomBytes(65_537));
    bytes[0] = 0;
    socket.pause();
    socket.end(bytes);
    let before = -1;
    await vi.waitFor(
      () => {
        const now = server.stats().streams["echo"]?.bytesForth ?? 0;
        const isStill = now > 0 && now === before;
        before = now;
        expect(isStill).toBe(true);
      },
      { timeout: 15_000, interval: 250 },
    );
    expect(before).toBeLessThan(bytes.length);
    expect((await buffer(socket)).equals(bytes)).toBe(true);
  });

  test("CONN-5: a session that lost its connection is resumed with its task", async () => {
    const server = await start();
    const first = await connect(server.url, connectOptions);
    await first.start("mirror");
    first.abort();
    await using second = await connect(server.url, { ...connectOptions, sessionId: first.sessionId });
    expect((await second.grade("back"))["answer"]).toBe("back");
  });

  test("CONN-5: a closed server is noticed", async () => {
    const server = await start();
    await using client = await connect(server.url, connectOptions);
    await server.close();
    expect((await client.closed).code).toBe("connection-lost");
  });
});

test("CONN-5: one server listens at several addresses, with the same sessions", async () => {
  const unix = `unix://${folder}/several.sock`;
  const server = await served({ listen: ["tcp://127.0.0.1:0", unix, "ws://127.0.0.1:0"] });
  expect(server.urls.map((url) => url.split(":")[0])).toEqual(["tcp", "unix", "ws"]);
  expect(server.port).toBe(Number(new URL(server.url).port));
  const first = await connect(server.urls[0]!);
  await first.start("mirror");
  await first.close();
  await using second = await connect(server.urls[2]!, { sessionId: first.sessionId });
  expect((await second.grade("moved"))["score"]).toBe(1);
});

test("a unix socket is its owner's alone, and goes away with its server", async () => {
  const file = path.join(folder, "private/control.sock");
  const server = await served({ listen: `unix:${file}` });
  expect(lstatSync(path.dirname(file)).mode & 0o777).toBe(0o700);
  expect(lstatSync(file).mode & 0o777).toBe(0o600);
  await server.close();
  expect(existsSync(file)).toBe(false);
});

test("a stale unix socket is replaced, one that answers is not, and nothing else is", async () => {
  const file = path.join(folder, "stale.sock");
  const { execPath } = process;
  const script = `require("net").createServer().listen(${JSON.stringify(file)}, () => process.kill(process.pid, "SIGKILL"))`;
  const { spawnSync } = await import("node:child_process");
  spawnSync(execPath, ["-e", script]);
  expect(existsSync(file)).toBe(true);
  const server = await served({ listen: `unix://${file}` });
  await expect(served({ listen: `unix://${file}` })).rejects.toThrow("another program does");
  await using client = await connect(server.url);
  await client.ping();
  const note = path.join(folder, "note.txt");
  await writeFile(note, "mine");
  await expect(served({ listen: `unix://${note}` })).rejects.toThrow("something else than a socket");
});

test("two servers cannot have one port, and what had started is stopped", async () => {
  const first = await served({});
  const error = await rejection(served({ listen: [`unix://${folder}/second.sock`, first.url] }));
  expect(error).toMatchObject({ code: "address-in-use" });
  expect(existsSync(`${folder}/second.sock`)).toBe(false);
});

test("CONN-6: an address that is not loopback needs tokens, client certificates, or a word", async () => {
  const env = new Environment();
  const refused = (options: ServeOptions): Promise<unknown> => rejection(serve(env, options));
  for (const listen of ["tcp://0.0.0.0:0", "ws://0.0.0.0:0", "tls://0.0.0.0:0"]) {
    expect(await refused({ listen, tls: serverKeys })).toMatchObject({
      name: "TypeError",
      message: expect.stringContaining("insecure: true"),
    });
  }
  for (const options of [
    { listen: "tls://0.0.0.0:0", tls: { ...serverKeys, ca } },
    { listen: "tcp://0.0.0.0:0", tokens: { orchestrator: "0123456789abcdef" } },
    { listen: "tcp://0.0.0.0:0", insecure: true },
  ]) {
    await (await serve(env, options)).close();
  }
});

test.each([
  ["tls without keys", { listen: "tls://127.0.0.1:0" }, "'tls' must have a key"],
  ["listen and port", { listen: "tcp://127.0.0.1:0", port: 1 }, "takes the place of"],
  ["no address", { listen: [] }, "must name an address"],
  ["an unknown scheme", { listen: "http://127.0.0.1:0" }, "tcp, tls, ws, wss or unix"],
  ["a relative path", { listen: "unix:control.sock" }, "an absolute path"],
])("serve() refuses %s", async (_name, options, message) => {
  const error = await rejection(serve(new Environment(), options));
  expect(error).toMatchObject({ name: "TypeError", message: expect.stringContaining(message) });
});

describe("tls", () => {
  test("a server with another certificate is not trusted, at once", async () => {
    const { url } = await served({ listen: "tls://127.0.0.1:0", ...secured });
    const error = await rejection(connect(url));
    expect(error).toMatchObject({
      code: "authentication-failed",
      message: expect.stringContaining("127.0.0.1"),
    });
    expect(await rejection(connect(url, { tls: { ca: makeCertificates().ca } }))).toMatchObject({
      code: "authentication-failed",
    });
  });

  test("the name of the certificate is checked, and may be given", async () => {
    const { port } = await served({ listen: "tls://127.0.0.1:0", ...secured });
    const url = `tls://127.0.0.1:${String(port)}`;
    await using client = await connect(url, { tls: { ca, serverName: "localhost" } });
    await client.ping();
    expect(await rejection(connect(url, { tls: { ca, serverName: "elsewhere.test" } }))).toMatchObject({
      code: "authentication-failed",
    });
  });

  test("a client without the certificate that the server asks for is refused", async () => {
    const { url } = await served({ listen: "tls://127.0.0.1:0", tls: { ...serverKeys, ca } });
    const error = await rejection(connect(url, { ...trusting, readyTimeout: 0 }));
    expect(["authentication-failed", "not-ready"]).toContain((error as { code: string }).code);
    const other = makeCertificates();
    await expect(connect(url, { tls: { ca, ...other.client }, readyTimeout: 0 })).rejects.toThrow();
  });

  test("plain bytes on a TLS port end that connection alone", async () => {
    const server = await served({ listen: "tls://127.0.0.1:0", ...secured });
    const socket = net.connect(server.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.resume().write('{"id":1,"method":"hello"}\n');
    await once(socket, "close");
    await using client = await connect(server.url, trusting);
    await client.ping();
  });
});

describe("ws", () => {
  test("a web page is refused unless its origin is allowed by name", async () => {
    const { url } = await served({ listen: "ws://127.0.0.1:0", allowedOrigins: ["https://viewer.test"] });
    const status = (origin: string): Promise<number> =>
      new Promise((resolve) => {
        const socket = new WebSocket(url, { origin });
        socket.once("open", () => {
          socket.terminate();
          resolve(101);
        });
        socket.once("unexpected-response", (_request, response) => {
          resolve(response.statusCode ?? 0);
          socket.terminate();
        });
        socket.on("error", () => {});
      });
    expect(await status("https://evil.test")).toBe(403);
    expect(await status("null")).toBe(403);
    expect(await status("https://viewer.test")).toBe(101);
  });

  test("a request that asks for no WebSocket is told what this is, and another path is not there", async () => {
    const { port } = await served({ listen: "ws://127.0.0.1:0/env" });
    const response = await fetch(`http://127.0.0.1:${String(port)}/env`);
    expect(response.status).toBe(426);
    expect(await response.text()).toContain("envport control port");
    const error = await rejection(connect(`ws://127.0.0.1:${String(port)}/other`, { readyTimeout: 0 }));
    expect(error).toMatchObject({ code: "not-ready", message: expect.stringContaining("404") });
  });

  test("a frame may come as a message without a line end, several as one, and bad ones are answered", async () => {
    const { url } = await served({ listen: "ws://127.0.0.1:0" });
    const socket = new WebSocket(url);
    const replies: string[] = [];
    socket.on("message", (data: Buffer) => replies.push(...String(data).trim().split("\n")));
    await once(socket, "open");
    socket.send('{"id":1,"method":"hello"}');
    socket.send('{"id":2,"method":"ping"}\n{"id":3,"method":"ping"}');
    socket.send("not json");
    await vi.waitFor(() => expect(replies).toHaveLength(4));
    expect(replies.map((line) => (JSON.parse(line) as { id: number | null }).id).toSorted()).toEqual([
      1,
      2,
      3,
      null,
    ]);
    socket.send("");
    const [code] = (await once(socket, "close")) as [number];
    expect(code).toBe(1000);
  });

  test("FRAME-4: a message over the limit is refused", async () => {
    const { url } = await served({ listen: "ws://127.0.0.1:0", maxFrameBytes: 100_000 });
    const socket = new WebSocket(url);
    const replies: string[] = [];
    socket.on("message", (data: Buffer) => replies.push(String(data))).on("error", () => {});
    await once(socket, "open");
    socket.send('{"id":1,"method":"hello"}');
    await vi.waitFor(() => expect(replies).toHaveLength(1));
    socket.send(`{"id":2,"method":"${"x".repeat(120_000)}"}`);
    await once(socket, "close");
    expect(replies[1]).toContain("-32600");
  });
});

/** An HTTP proxy that knows CONNECT alone, and what it was asked for. */
async function startProxy(status = 200): Promise<{ url: string; asked: string[] }> {
  const asked: string[] = [];
  const proxy = http.createServer();
  proxy.on("connect", (request, socket, head) => {
    asked.push(`${request.url!} ${request.headers["proxy-authorization"] ?? "-"}`);
    if (status !== 200) {
      socket.end(`HTTP/1.1 ${String(status)} No\r\n\r\n`);
      return;
    }
    const [, host, port] = /^\[?(.*?)\]?:(\d+)$/.exec(request.url!)!;
    const remote = net.connect({
      host: host === "environment.test" ? "127.0.0.1" : host!,
      port: Number(port),
      ...SOCKET_OPTIONS,
    });
    remote.on("error", () => socket.destroy()).on("close", () => socket.destroy());
    socket.on("error", () => remote.destroy());
    socket.write("HTTP/1.1 200 OK\r\n\r\n");
    remote.write(head);
    socket.pipe(remote).pipe(socket);
  });
  proxy.listen(0, "127.0.0.1");
  await once(proxy, "listening");
  onTestFinished(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  return { url: `http://127.0.0.1:${String((proxy.address() as net.AddressInfo).port)}`, asked };
}

describe("proxies", () => {
  test.each(["tcp", "tls", "ws", "wss"])("%s goes through an HTTP proxy that is named", async (scheme) => {
    const proxy = await startProxy();
    const { url, port } = await served({ listen: `${scheme}://127.0.0.1:0`, ...secured });
    const named = proxy.url.replace("//", "//user:p%40ss@");
    await using client = await connect(url, { ...trusting, proxy: named });
    await client.ping();
    const credentials = Buffer.from("user:p@ss").toString("base64");
    expect(proxy.asked).toEqual([`127.0.0.1:${String(port)} Basic ${credentials}`]);
  });

  test("HTTPS_PROXY is honoured for wss, and for the others when asked; NO_PROXY and loopback are spared", async () => {
    const proxy = await startProxy();
    vi.stubEnv("HTTPS_PROXY", proxy.url);
    vi.stubEnv("NO_PROXY", "");
    onTestFinished(() => void vi.unstubAllEnvs());
    const { port } = await served({ listen: "wss://127.0.0.1:0", ...secured });
    const options = { tls: { ca, serverName: "localhost" }, readyTimeout: 0 };
    const outside = `wss://environment.test:${String(port)}`;
    await using client = await connect(outside, options);
    await client.ping();
    expect(proxy.asked).toHaveLength(1);
    await (await connect(`wss://127.0.0.1:${String(port)}`, options)).close();
    expect(proxy.asked).toHaveLength(1);

    const plain = await served({});
    const named = `tcp://environment.test:${String(plain.port)}`;
    await (await connect(named, { proxy: true })).close();
    expect(proxy.asked).toHaveLength(2);
    vi.stubEnv("NO_PROXY", "other.test, .environment.test");
    await expect(connect(named, { proxy: true, readyTimeout: 0 })).rejects.toMatchObject({
      code: "not-ready",
    });
    expect(proxy.asked).toHaveLength(2);
  });

  test("what a proxy says is told", async () => {
    const url = `tcp://127.0.0.1:${String(await freePort())}`;
    const refusing = await startProxy(407);
    const refused = await rejection(connect(url, { proxy: refusing.url }));
    expect(refused).toMatchObject({ code: "authentication-failed", message: expect.stringContaining("407") });
    const failing = await startProxy(502);
    const failed = await rejection(connect(url, { proxy: failing.url, readyTimeout: 0 }));
    expect(failed).toMatchObject({ code: "not-ready", message: expect.stringContaining("502") });
    await expect(connect(url, { proxy: "ftp://u:secret@proxy" })).rejects.toThrow(
      /^(?!.*secret).*http:\/\/host:port/,
    );
  });
});
