import { generateSshKeyPair } from "@envport/ssh";
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { writeFile } from "node:fs/promises";
import { connect } from "node:net";
import type { Socket } from "node:net";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import ssh2 from "ssh2";
import type { Client } from "ssh2";
import { afterAll, beforeAll, test } from "vitest";
import { runProgram, startWorkspace } from "./_testing.ts";
import type { TestWorkspace } from "./_testing.ts";

let box: TestWorkspace;
let port: number;
beforeAll(async () => {
  box = await startWorkspace();
  port = Number(new URL(box.workspace.sshUrl).port);
});
afterAll(async () => {
  await box[Symbol.asyncDispose]();
});

/** Connects, sends, and resolves when the server has closed or the time is over. */
async function send(bytes: Buffer, { banner = true, ms = 150 } = {}): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => undefined);
  if (banner) socket.write("SSH-2.0-hostile\r\n");
  socket.write(bytes);
  socket.resume();
  await Promise.race([once(socket, "close"), sleep(ms)]);
  socket.destroy();
}

/** A packet in the clear: length, padding length, payload, padding. */
function packet(payload: Buffer, length = payload.length + 9): Buffer {
  const head = Buffer.alloc(5);
  head.writeUInt32BE(length >>> 0);
  head[4] = 8;
  return Buffer.concat([head, payload, Buffer.alloc(8)]);
}

/** A connection that has logged in, to misbehave on. */
async function login(): Promise<Client> {
  const client = new ssh2.Client();
  const { params } = box.workspace.capability();
  client.on("error", () => undefined);
  client.connect({ port, host: "127.0.0.1", username: "agent", privateKey: String(params["client_key"]) });
  await once(client, "ready");
  return client;
}

test("three hundred hostile clients leave a session undisturbed", { timeout: 60_000 }, async () => {
  await using client = await box.connect();
  await using echo = await client.spawn("cat");
  const lines = echo.stdout[Symbol.asyncIterator]();
  const attacks: ((i: number) => Promise<void>)[] = [
    () => send(randomBytes(5_000)),
    () => send(randomBytes(5_000), { banner: false }),
    () => send(packet(Buffer.alloc(16), 0xffffffff)),
    () => send(packet(Buffer.alloc(16), 0)),
    (i) => send(packet(Buffer.concat([Buffer.from([i % 256]), randomBytes(40)]))),
    (i) => send(packet(Buffer.concat([Buffer.from([20]), randomBytes(16 + (i % 200))]))),
    () => send(Buffer.from("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), { banner: false }),
    () => send(Buffer.alloc(300_000, 65), { banner: false }),
    () => send(Buffer.alloc(0)),
    async () => {
      const socket = connect(port, "127.0.0.1").on("error", () => undefined);
      await once(socket, "connect");
      socket.resetAndDestroy();
    },
  ];
  for (let i = 0; i < 300; i += 10) {
    await Promise.all(attacks.map((attack, j) => attack(i + j)));
    echo.stdin.write(`line ${String(i)}\n`);
    assert.equal(String((await lines.next()).value), `line ${String(i)}\n`);
  }
  assert.equal((await client.run("echo fine")).stdout, "fine\n");
});

test("a flood of channels is bounded and disturbs nobody", async () => {
  const flood = await login();
  let [opened, refused] = [0, 0];
  const all = Array.from(
    { length: 400 },
    () =>
      new Promise<void>((resolve) => {
        flood.exec("sleep 0.5", (error) => {
          if (error) refused++;
          else opened++;
          resolve();
        });
      }),
  );
  await using client = await box.connect();
  assert.equal((await client.run("echo fine")).stdout, "fine\n");
  await Promise.all(all);
  assert.equal(opened, 256);
  assert.equal(refused, 144);
  flood.destroy();
});

test("odd requests on a session are survived", async () => {
  const odd = await login();
  type Raw = Record<string, (...values: unknown[]) => void>;
  const protocol = (odd as unknown as { _protocol: Raw })._protocol;
  for (const id of [0, 7, 2 ** 31]) {
    protocol["channelData"]!(id, Buffer.from("x"));
    protocol["channelExtData"]!(id, Buffer.from("x"), 1);
    protocol["channelEOF"]!(id);
    protocol["windowChange"]!(id, 0, 0, 0, 0);
    protocol["signal"]!(id, "KILL");
    protocol["channelWindowAdjust"]!(id, 2 ** 32 - 1);
    protocol["channelClose"]!(id);
  }
  const [channel] = await new Promise<[ssh2.ClientChannel]>((resolve, reject) => {
    odd.exec("cat", { env: { "BAD NAME": "x", GOOD: "y".repeat(40_000) } }, (error, stream) => {
      if (error) reject(error);
      else resolve([stream]);
    });
  });
  channel.setWindow(-1 >>> 0, 0, 0, 0);
  channel.end("done");
  assert.equal((await channel.toArray()).join(""), "done");
  odd.end();
  await using client = await box.connect();
  assert.equal((await client.run("echo fine")).stdout, "fine\n");
});

test("too many tries at logging in end the connection", async () => {
  const client = new ssh2.Client();
  let tries = 0;
  client.on("error", () => undefined);
  client.connect({
    port,
    host: "127.0.0.1",
    username: "agent",
    authHandler: () => {
      tries++;
      const { private: key } = generateSshKeyPair();
      return { type: "publickey", username: "agent", key };
    },
  });
  await once(client, "close");
  assert.ok(tries <= 7, String(tries));
});

test("ssh with more keys than tries is not let in by the last of them", { timeout: 30_000 }, async () => {
  const keys = Array.from({ length: 7 }, (_, index) => join(box.folder, `wrong-${index}`));
  for (const key of keys) await writeFile(key, generateSshKeyPair().private, { mode: 0o600 });
  const right = box.workspace.sshClientKeyPath!;
  const words = (names: string[]): string[] => [
    ...["-F", "none", "-p", String(port), "-o", "BatchMode=yes", "-o", "IdentitiesOnly=yes"],
    ...["-o", `UserKnownHostsFile=${join(box.folder, "known_hosts")}`, "-o", "HostKeyAlias=box"],
    ...names.flatMap((name) => ["-i", name]),
    ...["agent@127.0.0.1", "echo in"],
  ];
  const few = await runProgram("ssh", words([...keys.slice(0, 3), right]));
  assert.equal(String(few.stdout), "in\n");
  const many = await runProgram("ssh", words([...keys, right]));
  assert.deepEqual([many.code, String(many.stdout)], [255, ""]);
});

test("connections that do not log in are closed after twenty seconds", { timeout: 40_000 }, async () => {
  const sockets = [connect(port, "127.0.0.1"), connect(port, "127.0.0.1")];
  sockets[1]!.write("SSH-2.0-slow\r\n");
  const started = Date.now();
  const closed = async (socket: Socket): Promise<number> => {
    socket.on("error", () => undefined).resume();
    await once(socket, "close");
    return Date.now() - started;
  };
  for (const ms of await Promise.all(sockets.map(closed))) assert.ok(ms > 18_000 && ms < 25_000, String(ms));
});

test("a client that grants a window and never reads costs little memory", { timeout: 30_000 }, async () => {
  const greedy = await login();
  const socket = (greedy as unknown as { _sock: Socket })._sock;
  const before = process.memoryUsage().rss;
  await new Promise<void>((resolve, reject) => {
    greedy.exec("exec cat /dev/zero", (error, channel) => {
      if (error) return reject(error);
      const { outgoing } = channel as unknown as { outgoing: { id: number } };
      socket.pause();
      const { _protocol: protocol } = greedy as unknown as {
        _protocol: { channelWindowAdjust(id: number, amount: number): void };
      };
      protocol.channelWindowAdjust(outgoing.id, 2 ** 31);
      resolve();
    });
  });
  await sleep(2_000);
  const growth = (process.memoryUsage().rss - before) / 1e6;
  greedy.destroy();
  assert.ok(growth < 100, `${String(growth)} MB`);
});

test("ssh-audit finds no failure", { timeout: 60_000 }, async () => {
  const args = ["-n", "-p", String(port), "127.0.0.1"];
  const { stdout, stderr } = await runProgram("ssh-audit", args, { timeout: 50_000 });
  const report = String(stdout);
  assert.match(report, /\(kex\)/, stderr);
  assert.doesNotMatch(report, /\[fail\]/);
});
