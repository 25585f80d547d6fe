import { spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import type { DaemonConnection } from "./_testing.ts";
import { Daemon, LineClient, freePort, heldMemory, served, until } from "./_testing.ts";
import { Environment } from "./environment.ts";
import type { ServeOptions, Server } from "./serve.ts";

interface Tunnel {
  client: LineClient;
  daemon: DaemonConnection;
  server: Server;
}

/** Opens a tunnel to a daemon that only listens. */
async function tunnel(options: ServeOptions = {}): Promise<Tunnel> {
  const daemon = await Daemon.listen();
  const { connect, server } = await served(new Environment({ capabilities: [daemon.capability()] }), options);
  const client = await connect();
  client.send({ id: 1, method: "tunnel.open", params: { capability: "echo" } });
  await client.next();
  return { client, daemon: await daemon.connection(), server };
}

const MIB = 1024 * 1024;

describe("tunnel.open", () => {
  test("TUN-1: the published host and port are dialled, the reply comes once, then bytes flow both ways", async () => {
    const { client, daemon } = await tunnel();
    client.socket.write("forth");
    daemon.socket.write("back");
    await until(() => String(daemon.received) === "forth" && String(client.stream) === "back");
    expect(String(client.received)).toBe('{"jsonrpc":"2.0","id":1,"result":{"capability":"echo"}}\nback');
  });

  test("TUN-1: without an id there is no reply, only the stream", async () => {
    const daemon = await Daemon.listen(({ socket }) => void socket.write("SSH-2.0-x\r\n"));
    const { connect } = await served(new Environment({ capabilities: [daemon.capability()] }));
    const client = await connect();
    client.send({ method: "tunnel.open", params: { capability: "echo" } });
    client.socket.write("payload");
    await until(() => String(client.received) === "SSH-2.0-x\r\n");
    const connection = await daemon.connection();
    await until(() => String(connection.received) === "payload");
  });

  test("TUN-1: only what is published can be reached, whatever else the frame says", async () => {
    const [published, other] = await Promise.all([Daemon.listen(), Daemon.listen()]);
    const { connect } = await served(new Environment({ capabilities: [published.capability()] }));
    const url = other.capability().url;
    const params = {
      capability: "echo",
      url,
      host: "127.0.0.1",
      port: other.port,
      dial: { port: other.port },
    };
    const client = await connect();
    client.send({ id: 1, method: "tunnel.open", params });
    await client.next();
    await published.connection();
    for (const capability of [url, `127.0.0.1:${other.port}`, `echo@127.0.0.1:${other.port}`]) {
      const refused = await connect();
      refused.send({ id: 1, method: "tunnel.open", params: { capability } });
      expect(await refused.next()).toMatchObject({ error: { data: { type: "unknown-capability" } } });
    }
    expect(other.connections).toEqual([]);
  });

  test("TUN-1: a dial target stays on the server: a unix socket in a private folder is reached, and never published", async () => {
    const folder = await mkdtemp(join(tmpdir(), "server-tunnel-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    await chmod(folder, 0o700);
    const path = join(folder, "daemon.sock");
    await Daemon.listen(({ socket }) => void socket.pipe(socket), { path });
    expect((await stat(path)).isSocket()).toBe(true);
    const env = new Environment();
    const shell = { name: "shell", protocol: "ssh/2", url: "ssh://127.0.0.1:22", params: { user: "agent" } };
    env.addCapability({ ...shell, dial: { path } });
    const { connect } = await served(env);
    const client = await connect();
    const hello = await client.result("hello");
    expect(hello["bindings"]).toEqual([shell]);
    const stream = await connect();
    stream.send({ id: 1, method: "tunnel.open", params: { capability: "shell" } });
    stream.socket.end("through");
    expect(await stream.ended).toBe("end");
    expect(String(stream.stream)).toBe("through");
  });

  test.each([
    ["an unknown name", "zzz", -32000, "unknown-capability", "unknown capability: 'zzz'"],
    ["__proto__", "__proto__", -32000, "unknown-capability", "unknown capability: '__proto__'"],
    ["no name", undefined, -32602, undefined, "'capability' must be a string"],
    ["a number", 5, -32602, undefined, "'capability' must be a string"],
    ["a binding without a port", "portless", -32602, undefined, "no host and port"],
    ["a daemon that refuses", "refusing", -32000, "dial-failed", "ECONNREFUSED"],
    ["a dial target that is not there", "missing", -32000, "dial-failed", "ENOENT"],
    ["a port that is none", "odd", -32000, undefined, "Port should be"],
  ])(
    "TUN-2: %s gets one error frame, then the connection is closed",
    async (_, capability, code, type, text) => {
      const env = new Environment();
      const base = { protocol: "tcp/1", params: {} };
      env.addCapability({ ...base, name: "portless", url: "https://example.test/mcp" });
      env.addCapability({ ...base, name: "refusing", url: `tcp://127.0.0.1:${await freePort()}` });
      env.addCapability({
        ...base,
        name: "missing",
        url: "tcp://127.0.0.1:1",
        dial: { path: "/nonexistent/secret.sock" },
      });
      env.addCapability({
        ...base,
        name: "odd",
        url: "tcp://127.0.0.1:1",
        dial: { host: "127.0.0.1", port: 70_000 },
      });
      const { connect, server } = await served(env);
      const client = await connect();
      client.send({ id: 4, method: "tunnel.open", params: { capability } });
      client.socket.write("payload for nobody\n");
      const { id, error } = await client.next();
      expect({ id, code: error.code, type: error.data?.type }).toEqual({ id: 4, code, type });
      expect(error.message).toContain(text);
      expect(error.message).not.toContain("secret.sock");
      expect(await client.ended).toBe("end");
      expect(client.frames).toEqual([]);
      client.destroy();
      await until(() => server.stats().connections === 0);
      expect(server.stats().streams).toEqual({});
    },
  );

  test("TUN-2: a refused tunnel.open without an id is closed without a word", async () => {
    const { connect, server } = await served();
    const client = await connect();
    client.send({ method: "tunnel.open", params: { capability: "zzz" } });
    expect(await client.ended).toBe("end");
    expect(client.received.length).toBe(0);
    client.destroy();
    await until(() => server.stats().connections === 0);
  });

  test("TUN-2: a daemon that accepts and closes at once: the reply, then an end", async () => {
    const daemon = await Daemon.listen(({ socket }) => void socket.end());
    const { connect } = await served(new Environment({ capabilities: [daemon.capability()] }));
    const client = await connect();
    client.send({ id: 1, method: "tunnel.open", params: { capability: "echo" } });
    expect(await client.next()).toMatchObject({ result: { capability: "echo" } });
    expect(await client.ended).toBe("end");
  });
});

describe("ends", () => {
  test("TUN-3: the client's end is passed on, and the daemon's answer of ten mebibytes still arrives", async () => {
    const { client, daemon, server } = await tunnel();
    client.socket.end("question");
    expect(await daemon.ended).toBe("end");
    expect(String(daemon.received)).toBe("question");
    daemon.socket.end(Buffer.alloc(10 * MIB, "a"));
    expect(await client.ended).toBe("end");
    expect(client.stream.length).toBe(10 * MIB);
    await until(() => server.stats().connections === 0);
  });

  test("TUN-3: the daemon's end is passed on, and the client's ten mebibytes still arrive", async () => {
    const { client, daemon, server } = await tunnel();
    daemon.socket.end("bye");
    expect(await client.ended).toBe("end");
    client.socket.end(Buffer.alloc(10 * MIB, "a"));
    expect(await daemon.ended).toBe("end");
    expect(daemon.received.length).toBe(10 * MIB);
    await until(() => server.stats().connections === 0);
  });

  test.each([0, 1, 300_000])(
    "TUN-3: a reset of the client behind %i bytes resets the daemon's connection",
    async (bytes) => {
      const { client, daemon, server } = await tunnel();
      if (bytes > 0) await new Promise((resolve) => client.socket.write(Buffer.alloc(bytes), resolve));
      client.reset();
      expect(await daemon.ended).toBe("reset");
      await until(() => server.stats().connections === 0);
      expect(server.stats().streams).toMatchObject({ echo: { open: 0 } });
    },
  );

  test("TUN-3: a reset of the daemon resets the client's connection", async () => {
    const { client, daemon, server } = await tunnel();
    daemon.socket.resetAndDestroy();
    expect(await client.ended).toBe("reset");
    await until(() => server.stats().connections === 0);
  });

  test("TUN-3: a half-closed tunnel that is silent is reaped after halfCloseTimeout, one with traffic is not", async () => {
    const { client, daemon, server } = await tunnel({ halfCloseTimeout: 600 });
    client.socket.end();
    await daemon.ended;
    for (let i = 0; i < 10; i++) {
      await sleep(80);
      daemon.socket.write("x");
    }
    expect(server.stats().connections).toBe(1);
    await until(() => server.stats().connections === 0);
    expect(client.stream.length).toBe(10);
    expect(await client.ended).toBe("reset");
  });

  test("TUN-3: closing the server resets its tunnels: a cut is never silent", async () => {
    const { client, daemon, server } = await tunnel();
    await server.close();
    expect(await client.ended).toBe("reset");
    expect(await daemon.ended).toBe("reset");
  });
});

describe("flow", () => {
  /** Writes as long as somebody takes it; returns how much was taken. */
  async function fill(socket: net.Socket): Promise<number> {
    const chunk = Buffer.alloc(256 * 1024, "x");
    let taken = 0;
    for (; taken < 512 * MIB; taken += chunk.length) {
      if (socket.write(chunk)) continue;
      const drained = await Promise.race([once(socket, "drain").then(() => true), sleep(400, false)]);
      if (!drained) return taken;
    }
    return taken;
  }

  test.each(["client", "daemon"] as const)(
    "TUN-4: when the %s's counterpart does not read, it is stopped, and the tunnel holds less than a mebibyte",
    async (sender) => {
      const { client, daemon } = await tunnel();
      const [from, to] = sender === "client" ? [client, daemon] : [daemon, client];
      to.socket.pause();
      to.socket.removeAllListeners("data");
      const before = await heldMemory();
      const taken = await fill(from.socket);
      const held = (await heldMemory()) - before - from.socket.writableLength;
      expect(taken).toBeLessThan(64 * MIB);
      expect(held).toBeLessThan(MIB);
      // It goes on when the reader does, and nothing is missing.
      let read = 0;
      to.socket.on("data", (data: Buffer) => (read += data.length)).resume();
      from.socket.end();
      await to.ended;
      expect(read).toBeGreaterThanOrEqual(taken);
    },
  );

  test("TUN-4: a stalled tunnel stalls nobody else", async () => {
    const daemon = await Daemon.listen(({ socket }) => void socket.pause());
    const { connect, server } = await served(new Environment({ capabilities: [daemon.capability()] }));
    const client = await connect();
    client.send({ id: 1, method: "tunnel.open", params: { capability: "echo" } });
    await client.next();
    void fill(client.socket);
    await sleep(100);
    const other = await connect();
    for (let i = 0; i < 20; i++) await other.hello();
    expect(server.stats().connections).toBe(2);
    client.reset();
  });
});

describe("dialling", () => {
  /** A program that listens, but whose queue is full: a connection to it is never made. */
  async function deafDaemon(): Promise<number> {
    const program =
      "const s=require('net').createServer().listen({port:0,host:'127.0.0.1',backlog:1},()=>process.stdout.write(String(s.address().port)))";
    const child = spawn(process.execPath, ["-e", program], { stdio: ["ignore", "pipe", "inherit"] });
    onTestFinished(async () => {
      child.kill("SIGKILL");
      await once(child, "exit");
    });
    const [data] = (await once(child.stdout, "data")) as [Buffer];
    child.kill("SIGSTOP");
    const port = Number(String(data));
    const fillers = Array.from({ length: 4 }, () => net.connect(port, "127.0.0.1").on("error", () => {}));
    onTestFinished(() => {
      for (const socket of fillers) socket.destroy();
    });
    await until(() => fillers.filter(({ connecting }) => !connecting).length > 0);
    await sleep(50);
    expect(fillers.some(({ connecting }) => connecting)).toBe(true);
    return port;
  }

  function connecting(port: number): Promise<number> {
    const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")} 02`;
    return readFile("/proc/net/tcp", "utf8").then((text) => text.split(suffix).length - 1);
  }

  test("TUN-5: a dial that takes longer than dialTimeout fails", async () => {
    const port = await deafDaemon();
    const capability = { name: "deaf", protocol: "tcp/1", url: `tcp://127.0.0.1:${port}`, params: {} };
    const { connect } = await served(new Environment({ capabilities: [capability] }), { dialTimeout: 150 });
    const client = await connect();
    client.send({ id: 1, method: "tunnel.open", params: { capability: "deaf" } });
    expect(await client.next()).toMatchObject({
      id: 1,
      error: {
        code: -32000,
        message: "cannot reach capability 'deaf': connect timeout",
        data: { type: "dial-failed" },
      },
    });
    expect(await client.ended).toBe("end");
  });

  test.each(["reset", "close"] as const)("TUN-5: a %s while the dial is pending ends it", async (how) => {
    const port = await deafDaemon();
    const capability = { name: "deaf", protocol: "tcp/1", url: `tcp://127.0.0.1:${port}`, params: {} };
    const { connect, server } = await served(new Environment({ capabilities: [capability] }));
    const client = await connect();
    const before = await connecting(port);
    client.send({ id: 1, method: "tunnel.open", params: { capability: "deaf" } });
    client.socket.write("early payload");
    await until(() => server.stats().connections === 1);
    let dialling = 0;
    for (let i = 0; i < 200 && dialling <= before; i++) dialling = await connecting(port);
    expect(dialling).toBe(before + 1);
    if (how === "reset") client.reset();
    else await server.close();
    await until(() => server.stats().connections === 0);
    expect(await connecting(port)).toBe(before);
    expect(server.stats().streams).toEqual({});
  });

  test("TUN-5: every leg has keepalive, and small writes do not wait for one another", async () => {
    const { client, daemon, server } = await tunnel();
    const text = await readFile("/proc/net/tcp", "utf8");
    const hex = (port: number): string => `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
    // Columns: slot, local address, remote address, state, queues, timer (02 = keepalive).
    const rows = text.split("\n").map((line) => line.trim().split(/\s+/));
    const timer = (local: string, remote: string): string | undefined =>
      rows.find((row) => row[1]?.endsWith(local) && row[2]?.endsWith(remote))?.[5]?.slice(0, 2);
    expect(timer(hex(server.port), hex(client.socket.localPort!))).toBe("02");
    expect(timer(hex(daemon.socket.remotePort!), hex(daemon.socket.localPort!))).toBe("02");

    // Write, write, read: without TCP_NODELAY the second write waits 40 ms for the first one's acknowledgement.
    const times: number[] = [];
    for (let round = 0; round < 15; round++) {
      const began = performance.now();
      const target = daemon.received.length + 2;
      client.socket.write("a");
      await sleep(1);
      client.socket.write("b");
      while (daemon.received.length < target) await sleep(0);
      daemon.socket.write("c");
      await sleep(1);
      daemon.socket.write("d");
      const back = (round + 1) * 2;
      while (client.stream.length < back) await sleep(0);
      times.push(performance.now() - began);
    }
    expect(times.sort((a, b) => a - b)[2]).toBeLessThan(35);
  });

  test("TUN-5: a burst of clients meets a long queue", async () => {
    const listen = vi.spyOn(net.Server.prototype, "listen");
    onTestFinished(() => listen.mockRestore());
    const { server } = await served();
    expect(listen.mock.calls[0]![0]).toMatchObject({ backlog: 4096 });
    const clients = await Promise.all(Array.from({ length: 600 }, () => LineClient.connect(server.port)));
    await Promise.all(clients.map((client) => client.hello()));
    expect(server.stats().sessions.live).toBe(600);
  });
});

describe("counting", () => {
  test("TUN-6: streams and bytes are counted per binding, while they are open and after", async () => {
    const [echo, silent] = await Promise.all([
      Daemon.listen(({ socket }) => void socket.pipe(socket)),
      Daemon.listen(),
    ]);
    const env = new Environment({ capabilities: [echo.capability("echo"), silent.capability("silent")] });
    const { connect, server } = await served(env);
    const events: unknown[] = [];
    server.on("stream:open", (event) => events.push(["open", event]));
    server.on("stream:close", (event) => events.push(["close", event]));
    expect(server.stats().streams).toEqual({});

    const [first, second, third] = await Promise.all([connect(), connect(), connect()]);
    for (const client of [first, second]) {
      client.send({ id: 1, method: "tunnel.open", params: { capability: "echo" } });
      client.socket.write("12345");
      await until(() => String(client.stream) === "12345");
    }
    third.send({ id: 1, method: "tunnel.open", params: { capability: "silent" } });
    await third.next();
    third.socket.write("abc");
    await until(() => server.stats().streams["silent"]!.bytesForth === 3);
    expect(server.stats().streams).toEqual({
      echo: { open: 2, total: 2, bytesForth: 10, bytesBack: 10 },
      silent: { open: 1, total: 1, bytesForth: 3, bytesBack: 0 },
    });
    first.socket.end();
    third.reset();
    await until(() => server.stats().connections === 1);
    expect(server.stats().streams).toEqual({
      echo: { open: 1, total: 2, bytesForth: 10, bytesBack: 10 },
      silent: { open: 0, total: 1, bytesForth: 3, bytesBack: 0 },
    });
    expect(events).toEqual(
      expect.arrayContaining([
        ["open", { capability: "echo" }],
        ["open", { capability: "silent" }],
        ["close", { capability: "echo", bytesForth: 5, bytesBack: 5 }],
        ["close", { capability: "silent", bytesForth: 3, bytesBack: 0 }],
      ]),
    );
    expect(events.length).toBe(5);
  });
});
