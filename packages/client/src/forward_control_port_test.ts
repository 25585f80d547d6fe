import { Environment, serve } from "@envport/server";
import type { ServeOptions } from "@envport/server";
import { SOCKET_OPTIONS } from "@envport/wire";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import net from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { text } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { freePort, rejection } from "./_testing.ts";
import { makeCertificates } from "./_testing_certificates.ts";
import { connect } from "./connect.ts";
import { forwardControlPort } from "./forward_control_port.ts";

const TOKEN = "0123456789abcdef-token";
const silent = { log: () => {} };
const { ca, server: keys } = makeCertificates();

async function guarded(options: ServeOptions): Promise<string> {
  const daemon = net.createServer(SOCKET_OPTIONS, (socket) => socket.pipe(socket));
  daemon.listen(0, "127.0.0.1");
  await once(daemon, "listening");
  onTestFinished(() => void daemon.close());
  const env = new Environment({ name: "guarded" });
  const { port } = daemon.address() as net.AddressInfo;
  env.addCapability({ name: "echo", protocol: "tcp/1", url: `tcp://127.0.0.1:${String(port)}`, params: {} });
  env.template("mirror").run(async function* () {
    yield { score: 1, answer: yield "Say something." };
  });
  const server = await serve(env, { logger: silent, tokens: { orchestrator: TOKEN }, ...options });
  onTestFinished(() => server.close());
  return server.url;
}

test.each(["tcp", "unix", "tls", "ws", "wss"])(
  "SESS-10: a client without a token reaches a protected server by %s through a local port",
  async (scheme) => {
    const folder = await mkdtemp(path.join(tmpdir(), "envport-test-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const listen = scheme === "unix" ? `unix://${folder}/control.sock` : `${scheme}://127.0.0.1:0`;
    const url = await guarded({ listen, tls: keys });
    await using forward = await forwardControlPort(url, { token: TOKEN, tls: { ca } });
    await using client = await connect(forward.url);
    const answer = "ä".repeat(1_000_000);
    const task = await client.start("mirror");
    expect(await task.grade(answer)).toEqual({ score: 1, answer });
    const socket = net.connect(Number(new URL(client.binding("echo").url).port), "127.0.0.1");
    socket.end("through two forwarders");
    expect(await text(socket)).toBe("through two forwarders");
  },
);

test("what is no frame is passed on, for the environment to answer", async () => {
  const url = await guarded({});
  await using forward = await forwardControlPort(url, { token: TOKEN });
  const socket = net.connect(forward.port, "127.0.0.1");
  socket.end("no frame\n");
  expect(JSON.parse(await text(socket))).toMatchObject({ id: null, error: { code: -32700 } });
});

test("a wrong token is told by the environment, and a missing environment by a reset", async () => {
  const url = await guarded({});
  await using wrong = await forwardControlPort(url, { token: "wrong token, long enough" });
  await expect(connect(wrong.url)).rejects.toMatchObject({ code: -32001 });
  const nowhere = `tcp://127.0.0.1:${String(await freePort())}`;
  await using forward = await forwardControlPort(nowhere, { logger: silent });
  await expect(connect(forward.url, { readyTimeout: 0 })).rejects.toMatchObject({ code: "not-ready" });
});

test("closing it cuts its connections, and frees the port", async () => {
  const url = await guarded({});
  const forward = await forwardControlPort(url, { token: TOKEN });
  const client = await connect(forward.url);
  const { port } = forward;
  expect(await rejection(forwardControlPort(url, { port, token: TOKEN }))).toMatchObject({
    code: "address-in-use",
  });
  await forward.close();
  expect((await client.closed).code).toBe("connection-lost");
  await (await forwardControlPort(url, { port, token: TOKEN })).close();
});
