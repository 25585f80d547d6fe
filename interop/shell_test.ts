import { chmod, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { connect } from "@envport/client";
import { Environment, serve } from "@envport/server";
import type { Server } from "@envport/server";
import { ssh } from "@envport/ssh";
import { workspace } from "@envport/workspace";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { peer, servePeer } from "./_peer.ts";

const python = peer("shell");
let folder: string;
let server: Server;
beforeAll(async () => {
  folder = await makeFolder();
  const env = new Environment({ name: "shell" });
  env.use(workspace(path.join(folder, "workspace")));
  server = await serve(env);
});
afterAll(async () => {
  await python[Symbol.asyncDispose]();
  await server.close();
  await rm(folder, { recursive: true });
});

const scenario = (name: string, ...args: unknown[]): Promise<unknown> =>
  python.call(name, server.url, ...args);

async function makeFolder(): Promise<string> {
  const made = await mkdtemp(path.join(tmpdir(), "envport-interop-"));
  await chmod(made, 0o755);
  return made;
}

test("the peer finds our workspace behind a forwarder of its own", async () => {
  expect(await scenario("binding")).toEqual({
    url: expect.stringMatching(/^ssh:\/\/(.*@)?127\.0\.0\.1:\d+/),
    protocol: "ssh/2",
    params: expect.arrayContaining(["client_key", "cwd", "host_pubkey", "isolation", "user"]),
  });
});

test("the peer's SSHClient runs commands in our workspace: output, errors, exit code, input", async () => {
  expect(await scenario("commands")).toEqual(["/workspace\nagent\n", "oops\n", 3, "SHOUT"]);
});

test("the peer's SSHClient writes, reads and lists files", async () => {
  expect(await scenario("files")).toEqual([
    "première\n",
    "",
    expect.arrayContaining(["empty.txt", "notes.txt"]),
  ]);
});

test("a command that the peer gives up after its time-out is gone, and the next one runs", async () => {
  expect(await scenario("timed_out")).toEqual(["timed out", "gone\n"]);
});

test("the peer talks with a process line by line", async () => {
  expect(await scenario("streams")).toEqual([["got one\n", "got two\n"], 0]);
});

test("the peer's SSHClient reconnects through its forwarder after a cut", async () => {
  expect(await scenario("reconnected")).toBe("back\n");
});

test("40 commands of the peer's at once all return right", async () => {
  const expected = Array.from({ length: 40 }, (_, i) => [`${String(i)}\n`, i % 7]);
  expect(await scenario("together")).toEqual(expected);
});

test("asyncssh moves 32 MiB over SFTP there and back", async () => {
  expect(await scenario("transferred", 2 ** 25)).toEqual([true, true, "/workspace"]);
});

test("asyncssh gets a terminal with its size, a resize and Ctrl-C", async () => {
  expect(await scenario("terminal")).toEqual(["30 90", "40 120", 130]);
});

test("paramiko runs a command and moves files", async () => {
  expect(await scenario("by_paramiko")).toEqual(["through paramiko", "warning\n", 5, "written", 7]);
});

test("the peer's client meets the same walls as ours", async () => {
  expect(await scenario("walls")).toEqual(["", "closed\n"]);
});

test("our client and SshClient solve a task in a workspace that the peer serves", async () => {
  const root = path.join(await makeFolder(), "workspace");
  onTestFinished(() => rm(path.dirname(root), { recursive: true }));
  await using served = await servePeer("workspace_environment", { WORKSPACE_ROOT: root });
  await using client = await connect(served.url);
  expect(client.environment).toMatchObject({ name: "peer-workspace" });
  expect((await client.tasks()).map(({ id }) => id)).toEqual(["write"]);
  const task = await client.start("write", { name: "out.txt" });
  expect(task.promptText).toBe("Write out.txt.");

  const shell = await client.open(ssh);
  const { stdout, stderr, exitCode } = await shell.run("echo 42 > out.txt; echo told; echo oops >&2; exit 4");
  expect([stdout, stderr, exitCode]).toEqual(["told\n", "oops\n", 4]);
  const fed = await shell.run("tr a-z A-Z", { input: "shout" });
  expect(fed.stdout).toBe("SHOUT");
  const many = await Promise.all(Array.from({ length: 20 }, (_, i) => shell.run(`echo ${String(i)}`)));
  expect(many.map(({ stdout: line }) => Number(line))).toEqual(Array.from({ length: 20 }, (_, i) => i));
  expect(await task.grade("done")).toMatchObject({ score: 1, info: { text: "42\n" } });
});

test("a session of ours is parked and resumed at the peer's server", async () => {
  const root = path.join(await makeFolder(), "workspace");
  onTestFinished(() => rm(path.dirname(root), { recursive: true }));
  await using served = await servePeer("workspace_environment", { WORKSPACE_ROOT: root });
  const first = await connect(served.url);
  await first.start("write");
  await first.close();
  await using second = await connect(served.url, { sessionId: first.sessionId });
  expect(await second.grade("nothing written")).toMatchObject({ score: 0 });
});
