import { once } from "node:events";
import { createServer as createHttpServer, request } from "node:http";
import type { IncomingHttpHeaders, RequestListener } from "node:http";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server, Socket } from "node:net";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { EgressProxy } from "./_egress_proxy.ts";
import { readAll } from "./_testing.ts";
import { isPublicAddress } from "./_public_address.ts";
import { HostList } from "./host_list.ts";

async function portOf(server: Server): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return (server.address() as AddressInfo).port;
}

/** Names of a fake resolver; what begins with "local" counts as public although it is this machine. */
const NAMES: Record<string, string[]> = {
  "local.test": ["127.0.0.1"],
  "api.local.test": ["127.0.0.1"],
  "rebind.test": ["169.254.169.254"],
  "half.test": ["127.0.0.1", "10.0.0.1"],
  "dead.test": ["127.0.0.1"],
};

/** A proxy whose only public address is 127.0.0.1, the port it listens on, and what it resolved. */
async function proxy(entries: readonly string[]): Promise<{ port: number; resolved: string[] }> {
  const resolved: string[] = [];
  const egress = new EgressProxy({
    hosts: new HostList(entries),
    resolve: async (host) => {
      resolved.push(host);
      return NAMES[host] ?? Promise.reject(new Error("no such name"));
    },
    isPublic: (address) => address === "127.0.0.1" || isPublicAddress(address),
  });
  return {
    port: await portOf(createServer({ allowHalfOpen: true }, (socket) => egress.accept(socket))),
    resolved,
  };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

async function get(
  proxyPort: number,
  url: string,
  options: { method?: string; headers?: Record<string, string>; body?: string } = {},
): Promise<Answer> {
  const outgoing = request({
    host: "127.0.0.1",
    port: proxyPort,
    path: url,
    method: options.method ?? "GET",
    headers: { host: "ignored", ...options.headers },
  });
  outgoing.end(options.body);
  const [answer] = await once(outgoing, "response");
  return { status: answer.statusCode, headers: answer.headers, body: await text(answer) };
}

/** The head of the answer to CONNECT, and the socket that is then a tunnel. */
async function tunnel(proxyPort: number, target: string): Promise<{ head: string; socket: Socket }> {
  const socket = connect({ host: "127.0.0.1", port: proxyPort, allowHalfOpen: true });
  onTestFinished(() => void socket.destroy());
  socket.write(`CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n\r\n`);
  const [chunk] = await once(socket, "data");
  return { head: String(chunk), socket };
}

const web = (listener: RequestListener): Promise<number> => portOf(createHttpServer(listener));

describe("plain requests", () => {
  test("reach an allowed host and those below it, end to end", async () => {
    const origin = await web((incoming, response) => {
      response.setHeader("X-Seen", JSON.stringify([incoming.method, incoming.url, incoming.headers]));
      response.setHeader("Keep-Alive", "timeout=99");
      incoming.pipe(response);
    });
    const { port } = await proxy([`local.test:${origin}`]);
    for (const host of ["local.test", "api.local.test"]) {
      const answer = await get(port, `http://${host}:${origin}/path?q=1`, {
        method: "POST",
        body: "hello",
        headers: { "X-Mine": "1", "Proxy-Authorization": "secret", Connection: "close, X-Hop", "X-Hop": "1" },
      });
      expect(answer).toMatchObject({ status: 200, body: "hello" });
      const [method, url, headers] = JSON.parse(String(answer.headers["x-seen"]));
      expect([method, url, headers.host, headers["x-mine"]]).toEqual([
        "POST",
        "/path?q=1",
        `${host}:${origin}`,
        "1",
      ]);
      expect(headers).not.toHaveProperty("proxy-authorization");
      expect(headers).not.toHaveProperty("x-hop");
      expect(answer.headers["keep-alive"]).not.toBe("timeout=99");
    }
  });

  test.each([
    ["http://other.test/", 403, "blocked-by-allowlist"],
    ["http://evillocal.test/", 403, "blocked-by-allowlist"],
    ["http://local.test:22/", 403, "blocked-by-allowlist"],
    ["http://127.0.0.1/", 403, "blocked-by-allowlist"],
    ["http://2130706433/", 403, "blocked-by-allowlist"],
    ["http://[::1]/", 403, "blocked-by-allowlist"],
    ["http://rebind.test/", 403, "blocked-by-address"],
    ["http://half.test/", 403, "blocked-by-address"],
    ["http://unknown.test/", 502, "upstream-failure"],
    ["https://local.test/", 400, "bad-target"],
    ["http://user:pass@local.test/", 400, "bad-target"],
    ["/etc/passwd", 400, "bad-target"],
    ["file:///etc/passwd", 400, "bad-target"],
  ])("for %s are refused: %i %s", async (url, status, reason) => {
    const { port } = await proxy(["local.test", "rebind.test", "half.test", "unknown.test"]);
    const answer = await get(port, url);
    expect([answer.status, answer.headers["x-proxy-error"]]).toEqual([status, reason]);
  });

  test("to a host that does not answer say so", async () => {
    const closed = await portOf(createServer());
    const { port } = await proxy([`dead.test:${closed === 1 ? 2 : 1}`]);
    expect(await get(port, `http://dead.test:${closed === 1 ? 2 : 1}/`)).toMatchObject({
      status: 502,
      headers: { "x-proxy-error": "upstream-failure" },
    });
  });

  test("stream large bodies both ways", async () => {
    const origin = await web((incoming, response) => void incoming.pipe(response));
    const { port } = await proxy([`local.test:${origin}`]);
    const body = "x".repeat(8_000_000);
    expect((await get(port, `http://local.test:${origin}/`, { method: "PUT", body })).body).toBe(body);
  });
});

describe("CONNECT", () => {
  test("opens a tunnel that passes half-closes on", async () => {
    const origin = await portOf(
      createServer({ allowHalfOpen: true }, (socket) => {
        void readAll(socket).then((all) => socket.end(`all of ${all.length}`));
      }),
    );
    const { port } = await proxy([`local.test:${origin}`]);
    const { head, socket } = await tunnel(port, `local.test:${origin}`);
    expect(head).toMatch(/^HTTP\/1.1 200 /);
    socket.end("y".repeat(3_000_000));
    expect(await readAll(socket)).toBe("all of 3000000");
  });

  test("resolves once, and dials what was checked", async () => {
    const origin = await portOf(createServer((socket) => socket.end("hi")));
    const { port, resolved } = await proxy([`local.test:${origin}`]);
    const { head } = await tunnel(port, `local.test:${origin}`);
    expect(head).toMatch(/ 200 /);
    expect(resolved).toEqual(["local.test"]);
  });

  test.each([
    ["other.test:443", "403", "blocked-by-allowlist"],
    ["local.test:22", "403", "blocked-by-allowlist"],
    ["127.0.0.1:443", "403", "blocked-by-allowlist"],
    ["[::ffff:127.0.0.1]:443", "403", "blocked-by-allowlist"],
    ["rebind.test:443", "403", "blocked-by-address"],
    ["local.test", "400", "bad-target"],
    ["local.test:443/x", "400", "bad-target"],
    ["u@local.test:443", "400", "bad-target"],
    ["unknown.test:443", "502", "upstream-failure"],
  ])("to %s is refused: %s %s", async (target, status, reason) => {
    const { port } = await proxy(["local.test", "rebind.test", "unknown.test"]);
    const { head } = await tunnel(port, target);
    expect(head).toContain(`HTTP/1.1 ${status} `);
    expect(head).toContain(`X-Proxy-Error: ${reason}\r\n`);
  });
});

test("a connection that is no HTTP is closed", async () => {
  const { port } = await proxy(["local.test"]);
  for (const bytes of ["SSH-2.0-x\r\n\r\n", "\u0016\u0003\u0001", "{}\n\n", "GET\r\n\r\n"]) {
    const socket = connect(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.end(bytes);
    await once(socket.resume(), "close");
  }
});
