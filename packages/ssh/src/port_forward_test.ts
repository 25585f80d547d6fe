import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, createServer } from "node:net";
import type { AddressInfo, Server } from "node:net";
import { buffer } from "node:stream/consumers";
import { afterAll, beforeAll, test } from "vitest";
import { freePort, startRelay, startSshd } from "./_testing.ts";
import type { TestServer } from "./_testing.ts";
import { SshClient } from "./ssh_client.ts";

let server: TestServer;
let echo: Server;
let echoPort: number;
beforeAll(async () => {
  server = await startSshd();
  echo = createServer({ allowHalfOpen: true }, (socket) => {
    socket.on("error", () => undefined).pipe(socket);
  }).listen(0, "127.0.0.1");
  await once(echo, "listening");
  echoPort = (echo.address() as AddressInfo).port;
});
afterAll(async () => {
  echo.close();
  await server[Symbol.asyncDispose]();
});

async function roundTrip(port: number, content: Buffer): Promise<Buffer> {
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.end(content);
  return await buffer(socket);
}

test("forward() carries bytes and half-closes both ways, several at once", async () => {
  await using client = await SshClient.connect(server.capability);
  await using forward = await client.forward(echoPort);
  const contents = Array.from({ length: 8 }, () => randomBytes(1_000_000));
  const answers = await Promise.all(contents.map((content) => roundTrip(forward.port, content)));
  assert.ok(answers.every((answer, i) => answer.equals(contents[i]!)));
});

test("forward() resets a connection to a port that nothing listens on", async () => {
  await using client = await SshClient.connect(server.capability);
  await using forward = await client.forward(await freePort());
  await assert.rejects(roundTrip(forward.port, Buffer.from("x")), { code: "ECONNRESET" });
});

test("forward() resets what a lost connection cut short, and works again afterwards", async () => {
  await using relay = await startRelay(server.capability);
  await using client = await SshClient.connect(relay.capability);
  await using forward = await client.forward(echoPort);
  const socket = connect(forward.port, "127.0.0.1");
  socket.write("hello");
  await once(socket, "data");
  relay.cut();
  await assert.rejects(buffer(socket), { code: "ECONNRESET" });
  assert.equal(String(await roundTrip(forward.port, Buffer.from("again"))), "again");
});

test("close() of the client closes its forwarded ports", async () => {
  const client = await SshClient.connect(server.capability);
  const { port } = await client.forward(echoPort);
  await client.close();
  await assert.rejects(roundTrip(port, Buffer.from("x")), { code: "ECONNREFUSED" });
});
