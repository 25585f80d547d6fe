import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import { createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { EgressProxy } from "./_egress_proxy.ts";
import { launch } from "./_launch.ts";
import { Namespace } from "./_namespace.ts";
import { openNetwork } from "./_network.ts";
import { preparePlan } from "./_prepare_plan.ts";
import { readAll, run, temporaryFolder, until } from "./_testing.ts";
import { HostList } from "./host_list.ts";
import { DEFAULT_PATH } from "./default_path.ts";
import { Sandbox } from "./sandbox.ts";
import type { SandboxOptions } from "./sandbox_options.ts";

function sandboxOf(options: Partial<SandboxOptions> = {}): Sandbox {
  const sandbox = new Sandbox({ root: temporaryFolder(), ...options });
  onTestFinished(() => sandbox.stop());
  return sandbox;
}

async function listening(server: Server, where: object = { host: "127.0.0.1", port: 0 }): Promise<number> {
  server.listen(where);
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Runs a Node program in the background inside, until it says that it is ready. */
async function serve(sandbox: Sandbox, source: string): Promise<void> {
  const process = await sandbox.spawn({ argv: ["/run/envport/bin/node", "-e", source] });
  process.stderr?.resume();
  await once(process.stdout, "data");
}

const ECHO = 'const s = require("net").createServer({ allowHalfOpen: true }, (c) => c.pipe(c));';

describe("connect()", () => {
  test("reaches a server that an earlier command left running", async () => {
    const sandbox = sandboxOf();
    await serve(sandbox, `${ECHO} s.listen(7001, "127.0.0.1", () => console.log("up"))`);
    const bytes = "z".repeat(8_000_000);
    const stream = await sandbox.connect(7001);
    stream.end(bytes);
    expect(await text(stream)).toBe(bytes);
  });

  test("reaches a server on IPv6 alone", async () => {
    const sandbox = sandboxOf();
    await serve(
      sandbox,
      `${ECHO} s.listen({ host: "::1", port: 7002, ipv6Only: true }, () => console.log("up"))`,
    );
    const stream = await sandbox.connect(7002);
    stream.end("six");
    expect(await text(stream)).toBe("six");
  });

  test("passes half-closes on in both directions", async () => {
    const sandbox = sandboxOf();
    const source = `require("net").createServer({ allowHalfOpen: true }, (c) => {
      c.end("first"); let n = 0; c.on("data", (d) => (n += d.length)); c.on("end", () => console.log("got " + n));
    }).listen(7003, "127.0.0.1", () => console.log("up"))`;
    const server = await sandbox.spawn({ argv: ["/run/envport/bin/node", "-e", source] });
    let said = "";
    server.stdout.on("data", (chunk: Buffer) => (said += chunk.toString()));
    await until(() => said === "up\n", 3000, "the server");
    const stream = await sandbox.connect(7003);
    expect(await readAll(stream)).toBe("first");
    stream.end("x".repeat(500_000));
    await until(
      () => said === "up\ngot 500000\n",
      3000,
      () => said,
    );
  });

  test("tells a reset from an end", async () => {
    const sandbox = sandboxOf();
    await serve(
      sandbox,
      'require("net").createServer((c) => c.once("data", () => c.resetAndDestroy())).listen(7004, "127.0.0.1", () => console.log("up"))',
    );
    const stream = await sandbox.connect(7004);
    stream.write("x");
    const [error] = await once(stream.resume(), "error");
    expect(error).toMatchObject({ code: "ECONNRESET" });
  });

  test("says when nothing accepts, and refuses what is no port", async () => {
    const sandbox = sandboxOf();
    await expect(sandbox.connect(7005)).rejects.toMatchObject({ code: "connect-failed" });
    await expect(sandbox.connect(0)).rejects.toThrow(
      'Cannot connect as the port is not from 1 to 65535: current value is "0"',
    );
    await expect(sandbox.connect(7005, { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow(
      "enough",
    );
    expect((await run(sandbox, "echo on")).out).toBe("on\n");
  });

  test("carries 60 connections at once", async () => {
    const sandbox = sandboxOf();
    await serve(sandbox, `${ECHO} s.listen(7006, "127.0.0.1", () => console.log("up"))`);
    const answers = await Promise.all(
      Array.from({ length: 60 }, async (_, index) => {
        const stream = await sandbox.connect(7006);
        stream.end(`number ${index}`);
        return text(stream);
      }),
    );
    expect(answers).toEqual(Array.from({ length: 60 }, (_, index) => `number ${index}`));
  });

  test("is cut when the sandbox ends", async () => {
    const sandbox = sandboxOf();
    await serve(sandbox, `${ECHO} s.listen(7007, "127.0.0.1", () => console.log("up"))`);
    const stream = await sandbox.connect(7007);
    const failed = once(stream, "error");
    await sandbox.stop();
    expect((await failed)[0]).toMatchObject({ code: "ECONNRESET" });
  });
});

describe("the default network", () => {
  test("is a loopback of its own, with names for it, and no proxy", async () => {
    const port = await listening(createServer((socket) => socket.end("host")));
    const sandbox = sandboxOf();
    const { out } = await run(
      sandbox,
      `cat /etc/hosts; ls /sys/class/net 2>/dev/null; grep -c : /proc/net/dev; env | grep -ci proxy; (echo > /dev/tcp/127.0.0.1/${port}) 2>&1 | grep -o refused | head -1; getent hosts workspace`,
    );
    expect(out).toBe(
      "127.0.0.1 localhost workspace\n::1 localhost\n1\n0\nrefused\n127.0.0.1       localhost workspace\n",
    );
    expect(sandbox.report).toMatchObject({ network: { mode: "none" }, warnings: [] });
  });
});

describe("allowedHosts", () => {
  const CURL = (url: string) => `curl -s -o /dev/null -w "%{http_code} %header{x-proxy-error}\\n" ${url}`;

  test("give the sandbox a proxy, the variables that point at it, and no other way out", async () => {
    const port = await listening(createHttpServer((_, response) => void response.end("host")));
    const sandbox = sandboxOf({ allowedHosts: ["good.test", `localhost:${port}`] });
    const outcomes = await run(
      sandbox,
      [
        CURL("http://evil.test/"),
        CURL("http://127.0.0.1.evil.test/"),
        `curl -s --noproxy '' -o /dev/null -w "%{http_code} %header{x-proxy-error}\\n" http://localhost:${port}/`,
        `curl -s --noproxy '*' -o /dev/null -w "%{http_code} %{errormsg}\\n" http://localhost:${port}/`,
        `curl -s -o /dev/null -w "%{http_connect} %{exitcode}\\n" https://evil.test/`,
        "echo $no_proxy $HTTPS_PROXY",
      ].join("; "),
    );
    const lines = outcomes.out.split("\n");
    expect(lines[0]).toBe("403 blocked-by-allowlist");
    expect(lines[1]).toBe("403 blocked-by-allowlist");
    expect(lines[2]).toBe("403 blocked-by-address");
    expect(lines[3]).toMatch(/^000 .*(refused|Failed to connect|Couldn't connect)/);
    expect(lines[4]).toBe("403 56");
    expect(lines[5]).toBe("localhost,127.0.0.1,::1 http://127.0.0.1:3128");
    expect(sandbox.report.network).toEqual({
      mode: "proxy",
      allowedHosts: ["good.test", `localhost:${port}`],
    });
  });

  test("that are empty give nothing at all", async () => {
    const sandbox = sandboxOf({ allowedHosts: [] });
    expect(
      (
        await run(
          sandbox,
          "env | grep -ci proxy; (echo > /dev/tcp/127.0.0.1/3128) 2>&1 | grep -o refused | head -1",
        )
      ).out,
    ).toBe("0\nrefused\n");
    expect(sandbox.report.network).toEqual({ mode: "none" });
  });

  test("let an allowed host through, 40 requests at once and megabytes of it", async () => {
    const port = await listening(
      createHttpServer(
        (incoming, response) =>
          void response.end(incoming.url === "/big" ? "b".repeat(20_000_000) : `page ${incoming.url}`),
      ),
    );
    const proxy = new EgressProxy({
      hosts: new HostList([`good.test:${port}`]),
      resolve: async () => ["127.0.0.1"],
      isPublic: () => true,
    });
    const options = { root: temporaryFolder(), allowedHosts: ["good.test"] };
    const { plan, network, release } = preparePlan(options, DEFAULT_PATH, { cgroups: true });
    const agent = readFileSync(join(import.meta.dirname, "_agent.cjs"));
    const namespace = new Namespace(await launch({ ...plan, agent }, undefined), release);
    onTestFinished(() => namespace.stop());
    await openNetwork(namespace, { ...network, proxy });
    const url = `http://good.test:${port}`;
    const script = `curl -s ${url}/big | wc -c; curl -sp ${url}/tunnel; echo; for i in $(seq 40); do curl -s ${url}/$i & done | grep -o page | wc -l`;
    const env = { PATH: DEFAULT_PATH, ...network.env };
    const process = await namespace.spawn({ argv: ["bash", "-c", script], env, cwd: "/", limits: {} });
    expect(await text(process.stdout)).toBe("20000000\npage /tunnel\n40\n");
  });

  test("that are no hosts are refused", async () => {
    await expect(sandboxOf({ allowedHosts: ["http://x"] }).start()).rejects.toThrow(TypeError);
  });
});

describe("network: shared", () => {
  test("is the host's, with a warning", async () => {
    const port = await listening(createServer((socket) => socket.end("host\n")));
    const sandbox = sandboxOf({ network: "shared" });
    expect((await run(sandbox, `cat < /dev/tcp/127.0.0.1/${port}`)).out).toBe("host\n");
    expect(sandbox.report.network).toEqual({ mode: "shared" });
    expect(sandbox.report.warnings).toEqual([expect.stringContaining("the control port included")]);
    expect((await run(sandbox, "cat /etc/resolv.conf > /dev/null && echo readable")).out).toBe("readable\n");
  });

  test("contradicts allowedHosts and peers", async () => {
    await expect(sandboxOf({ network: "shared", allowedHosts: [] }).start()).rejects.toThrow(TypeError);
    const peers = [{ name: "db", port: 5432, target: { port: 1 } }];
    await expect(sandboxOf({ network: "shared", peers }).start()).rejects.toThrow(TypeError);
  });
});

describe("peers", () => {
  test("are reachable by name, over TCP and unix sockets, and nothing else is", async () => {
    const echo = () =>
      createServer({ allowHalfOpen: true }, (socket) => void socket.on("error", () => {}).pipe(socket));
    const tcp = await listening(echo());
    const other = await listening(echo());
    const path = join(temporaryFolder(), "socket");
    await listening(echo(), { path });
    const sandbox = sandboxOf({
      peers: [
        { name: "cache", port: 6379, target: { port: tcp } },
        { name: "tools.env", port: 6380, target: { path } },
        { name: "gone", port: 6381, target: { path: "/no/such/socket" } },
      ],
    });
    const ask = (host: string, port: number) =>
      `exec 3<>/dev/tcp/${host}/${port} && echo hello ${host} >&3 && head -1 <&3; exec 3>&-`;
    expect((await run(sandbox, ask("cache", 6379))).out).toBe("hello cache\n");
    expect((await run(sandbox, ask("tools.env", 6380))).out).toBe("hello tools.env\n");
    expect((await run(sandbox, ask("gone", 6381))).out).toBe("");
    for (const port of [tcp, other])
      expect((await run(sandbox, ask("127.0.0.1", port))).err).toContain("refused");
    expect(sandbox.report.network).toEqual({ mode: "none", peers: ["cache", "tools.env", "gone"] });
  });

  test("carry many connections and megabytes", async () => {
    const tcp = await listening(
      createServer({ allowHalfOpen: true }, (socket) => void socket.on("error", () => {}).pipe(socket)),
    );
    const sandbox = sandboxOf({ peers: [{ name: "echo", port: 7000, target: { port: tcp } }] });
    const source = `
      const net = require("net");
      const one = (i) => new Promise((done) => {
        const c = net.connect({ port: 7000, host: "127.0.0.1", allowHalfOpen: true }); let n = 0;
        c.on("data", (d) => (n += d.length)); c.on("end", () => done(n)); c.on("error", (e) => done(e.code)); c.end("x".repeat(100000 + i));
      });
      Promise.all(Array.from({ length: 100 }, (_, i) => one(i))).then((all) => console.log(all.every((n, i) => n === 100000 + i) || all.join()));`;
    expect((await run(sandbox, { argv: ["/run/envport/bin/node", "-e", source] })).out).toBe("true\n");
  });

  test.each([
    [{ name: "UPPER", port: 2000 }, "its name is no lower-case host name of its own"],
    [{ name: "localhost", port: 2000 }, "its name is no lower-case host name of its own"],
    [{ name: "a\nb", port: 2000 }, "its name is no lower-case host name of its own"],
    [{ name: "db", port: 80 }, "its port is not from 1024 to 65535 and its own"],
    [{ name: "db", port: 3128 }, "its port is not from 1024 to 65535 and its own"],
  ])("like %j are refused", async (peer, message) => {
    const peers = [{ ...peer, target: { port: 1 } }];
    await expect(sandboxOf({ peers, allowedHosts: ["x.test"] }).start()).rejects.toThrow(message);
  });
});
