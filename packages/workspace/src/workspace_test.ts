import { SshClient } from "@envport/ssh";
import { EnvportError } from "@envport/wire";
import assert from "node:assert/strict";
import { connect } from "node:net";
import { once } from "node:events";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterAll, beforeAll, test } from "vitest";
import { runProgram, startWorkspace } from "./_testing.ts";
import type { TestWorkspace } from "./_testing.ts";
import { Workspace } from "./workspace.ts";

let box: TestWorkspace;
beforeAll(async () => {
  box = await startWorkspace();
});
afterAll(async () => {
  await box[Symbol.asyncDispose]();
});

test("an agent's command runs in the workspace's directory, in a login shell", async () => {
  await using client = await box.connect();
  assert.deepEqual(await client.run("pwd; echo err >&2; shopt -q login_shell; exit $((3 + $?))"), {
    stdout: "/workspace\n",
    stderr: "err\n",
    exitCode: 3,
    signal: null,
    timedOut: false,
    truncated: false,
  });
});

test("commands of agents and of graders share one sandbox", async () => {
  await using client = await box.connect();
  await client.run("setsid sleep 1000 </dev/null >/dev/null 2>&1 & echo $! > /tmp/pid");
  const { exitCode } = await box.workspace.run("kill $(cat /tmp/pid)");
  assert.equal(exitCode, 0);
});

test("run() runs a program as it is, and a string by bash", async () => {
  const { stdout } = await box.workspace.run(["printf", "%s|", "a b", "$HOME"]);
  assert.equal(stdout, "a b|$HOME|");
  assert.equal((await box.workspace.run("echo $((1 + 1))")).stdout, "2\n");
});

test("run() passes input, variables and limits on", async () => {
  const result = await box.workspace.run('cat; echo "$FOO"', { input: "in ", env: { FOO: "bar" } });
  assert.equal(result.stdout, "in bar\n");
  assert.equal((await box.workspace.run("sleep 30", { timeout: 100 })).timedOut, true);
  assert.equal((await box.workspace.run("yes", { maxOutput: 1000 })).truncated, true);
});

test("run() does not read what an agent put into shell profiles", async () => {
  await box.workspace.run("echo 'echo planted' | tee .bash_profile .bashrc .profile >/dev/null");
  assert.equal((await box.workspace.run("echo clean")).stdout, "clean\n");
  await box.workspace.run("rm .bash_profile .bashrc .profile");
});

test("run() rejects where the program is missing", async () => {
  await assert.rejects(box.workspace.run(["no-such-program"]), { code: "spawn-failed" });
});

test("variables of the workspace reach agents and graders, those of the serving process do not", async () => {
  process.env["ENVPORT_TEST_SECRET"] = "secret";
  await using own = await startWorkspace({ env: { COLOUR: "blue", PATH: "/opt/tools:/usr/bin:/bin" } });
  await using client = await own.connect();
  const { stdout } = await client.run('echo "$COLOUR $USER ${ENVPORT_TEST_SECRET-unset} ${PATH%%:*}"');
  assert.equal(stdout, "blue agent unset /opt/tools\n");
  assert.equal((await own.workspace.run("echo $COLOUR")).stdout, "blue\n");
});

test("the capability carries what a client needs, under the wire's names (TUN-1)", async () => {
  await using own = await startWorkspace({ port: undefined, user: "me", guestPath: "/task", name: "box" });
  const { name, protocol, url, params, dial } = own.workspace.capability();
  assert.deepEqual([name, protocol, url], ["box", "ssh/2", "ssh://127.0.0.1:22"]);
  assert.equal(params["user"], "me");
  assert.equal(params["cwd"], "/task");
  assert.equal(params["isolation"], "bwrap");
  assert.equal(params["shell"], "bash");
  assert.match(String(params["host_pubkey"]), /^ssh-ed25519 /);
  assert.match(String(params["client_key"]), /PRIVATE KEY/);
  assert.ok(dial && "path" in dial);
  assert.equal((await stat(dirname(dial.path))).mode & 0o777, 0o700);
  const socket = connect(dial.path);
  const [banner] = (await once(socket, "data")) as [Buffer];
  assert.match(String(banner), /^SSH-2\.0-/);
  socket.destroy();
});

test("start() is idempotent, stop() too, and a stopped workspace starts again", async () => {
  await using own = await startWorkspace();
  const [first] = await own.workspace.start();
  assert.equal(first?.url, own.workspace.sshUrl);
  const { closed } = own.workspace;
  await Promise.all([own.workspace.stop(), own.workspace.stop()]);
  assert.equal(await closed, undefined);
  assert.throws(() => own.workspace.sshUrl, EnvportError);
  await assert.rejects(own.workspace.run("true"), { code: "closed" });
  await own.workspace.start();
  assert.equal((await own.workspace.run("echo again")).stdout, "again\n");
});

test("a grader's call starts the sandbox where none runs", async () => {
  await using own = await startWorkspace();
  await own.workspace.stop();
  await using fresh = new Workspace(join(own.folder, "fresh"), { hidden: [] });
  await fresh.writeFile("a/b.txt", "content");
  assert.equal(await fresh.readFile("a/b.txt", { encoding: "utf8" }), "content");
});

test("stop() leaves no file of its own behind", async () => {
  await using own = await startWorkspace();
  const key = own.workspace.sshClientKeyPath!;
  assert.equal((await stat(key)).mode & 0o777, 0o600);
  await own.workspace.stop();
  await assert.rejects(stat(dirname(key)), { code: "ENOENT" });
});

test("an unusable mount fails the start, with the rule", async () => {
  const own = new Workspace(join(box.folder, "other"), {
    mounts: [{ kind: "ro", src: "/missing", dst: "/data" }],
  });
  await assert.rejects(own.start(), (error) => {
    return error instanceof EnvportError && error.code === "service-failed" && /missing/.test(error.message);
  });
  await own.stop();
});

test("a busy port fails the start", async () => {
  const port = Number(new URL(box.workspace.sshUrl).port);
  const own = new Workspace(join(box.folder, "other"), { port, hidden: [] });
  await assert.rejects(own.start(), { code: "address-in-use" });
  await own.stop();
});

test("bwrapArgv() and shellArgv() make up a process of the caller's own in a sandbox", async () => {
  await using own = await startWorkspace({ env: { FOO: "bar" } });
  await own.workspace.writeFile("file", "content");
  const argv = own.workspace.bwrapArgv(
    own.workspace.shellArgv("cat file; echo $FOO; id -u; cat /etc/shadow"),
  );
  const { stdout } = await runProgram(argv[0]!, argv.slice(1));
  assert.match(String(stdout), /^contentbar\n[1-9]\d*\n$/);
});

test("the network and the limits that were asked for are in force", async () => {
  await using own = await startWorkspace({ allowedHosts: ["example.com"], limits: { tmpfs: 1_000_000 } });
  const { network, limits, uid } = own.workspace.report!;
  assert.deepEqual([network.mode, network.allowedHosts], ["proxy", ["example.com"]]);
  assert.equal(limits.tmpfs?.value, 1_000_000);
  assert.notEqual(uid, 0);
  assert.notEqual((await own.workspace.run("head -c 2000000 /dev/zero > /tmp/x")).exitCode, 0);
  assert.equal(box.workspace.report?.network.mode, "none");
});

test("the environment's own folder is not visible, also below a mounted system directory", async () => {
  const source = await mkdtemp("/usr/src/envport-test-");
  await writeFile(join(source, "env.ts"), "SECRET-GRADER");
  try {
    await using own = await startWorkspace({ hidden: [source] });
    const { stdout } = await own.workspace.run(
      `cat ${source}/env.ts; ls -A ${source}; grep -rs SECRET-GRADER /usr/src`,
    );
    assert.equal(stdout, "");
  } finally {
    await rm(source, { recursive: true });
  }
});

test("a workspace that would show the environment's own folder refuses to start", async () => {
  const own = new Workspace(box.folder, { hidden: [join(box.folder, "workspace")] });
  await assert.rejects(own.start(), { code: "service-failed" });
  await own.stop();
});

test("keys that the caller has are used instead of new ones", async () => {
  const folder = await mkdtemp(join(tmpdir(), "envport-keys-"));
  const keygen = async (type: string, name: string): Promise<string> => {
    const path = join(folder, name);
    const { code } = await runProgram("ssh-keygen", ["-q", "-t", type, "-N", "", "-f", path]);
    assert.equal(code, 0);
    return path;
  };
  try {
    const [rsa, mine, other] = await Promise.all([
      keygen("rsa", "rsa"),
      keygen("ed25519", "a"),
      keygen("rsa", "b"),
    ]);
    await using own = await startWorkspace({
      hostKeyPath: rsa,
      authorizedClientKeys: [`${mine}.pub`, `${other}.pub`],
    });
    const capability = own.workspace.capability();
    assert.equal(capability.params["client_key"], undefined);
    assert.equal(own.workspace.sshClientKeyPath, undefined);
    assert.match(own.workspace.sshHostPubkey, /^ssh-rsa /);
    for (const client_key_path of [mine, other]) {
      const params = { ...capability.params, client_key_path };
      await using client = await SshClient.connect({ ...capability, params });
      assert.equal((await client.run("echo in")).stdout, "in\n");
      const { code } = await own.ssh(["-i", client_key_path, "box", "true"]);
      assert.equal(code, 0);
    }
    await assert.rejects(
      SshClient.connect({ ...capability, params: { ...capability.params, client_key_path: rsa } }),
      {
        code: "authentication-failed",
      },
    );
  } finally {
    await rm(folder, { recursive: true });
  }
});

test("a key file that is none fails the start", async () => {
  const own = new Workspace(join(box.folder, "other"), { hostKeyPath: "/etc/hostname", hidden: [] });
  await assert.rejects(own.start(), { code: "service-failed" });
  await own.stop();
});

test("a machine without bubblewrap is refused with the reason and the remedy, unless isolation is given up", async () => {
  const options = { hidden: [], bwrap: "/nowhere/bwrap" };
  const own = new Workspace(join(box.folder, "other"), options);
  await assert.rejects(own.start(), (error) => {
    assert.ok(error instanceof EnvportError && error.code === "service-failed");
    return /install it: .*bubblewrap/.test(error.message);
  });
  await own.stop();
  await using open = new Workspace(join(box.folder, "other"), { ...options, isolation: "none" });
  const [capability] = await open.start();
  assert.equal(capability?.params["isolation"], "none");
});
