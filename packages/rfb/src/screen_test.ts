import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, statSync } from "node:fs";
import { createInterface } from "node:readline";
import { join } from "node:path";
import { connect as connectClient } from "@envport/client";
import { Environment, serve } from "@envport/server";
import { expect, onTestFinished, test } from "vitest";
import { connectTo, execute, makeFolder, readWhenThere, SERVERS, startScreen, until } from "./_testing.ts";
import { screen as makeScreen } from "./create_screen.ts";
import { rfb } from "./rfb.ts";
import { RfbClient } from "./rfb_client.ts";
import { Screen } from "./screen.ts";

const socketOf = (screen: Screen): string => (screen.capability.dial as { path: string }).path;

test.each(SERVERS)(
  "%s: the screen is at a socket that only its owner reaches, and at no port",
  async (server) => {
    const { screen } = await startScreen({ server });
    const socket = socketOf(screen);
    assert.equal(statSync(join(socket, "..")).mode & 0o777, 0o700);
    assert.equal(statSync(screen.env["XAUTHORITY"]!).mode & 0o777, 0o600);
    const { stdout } = await execute("ss", ["-ltnpH"]);
    expect(stdout).not.toMatch(/Xtigervnc|Xvfb|x11vnc/);
  },
);

test.each(SERVERS)("%s: the display takes nobody without its cookie", async (server) => {
  const { screen } = await startScreen({ server });
  const info = (env: Record<string, string>): Promise<unknown> =>
    execute("xdotool", ["getdisplaygeometry"], {
      env: { PATH: process.env["PATH"], DISPLAY: screen.display, ...env },
    });
  await assert.rejects(info({ XAUTHORITY: "/dev/null" }));
  expect(await info(screen.env)).toMatchObject({ stdout: "640 480\n" });
});

test.each(SERVERS)("%s: nothing outlives stop(), and the screen starts again", async (server) => {
  const folder = await makeFolder();
  const { screen } = await startScreen({
    server,
    run: [`echo $$ > ${folder}/pid; exec xterm -e 'setsid sleep 1000'`],
  });
  const pid = (await readWhenThere(`${folder}/pid`)).trim();
  const socket = socketOf(screen);
  await screen.stop();
  assert.ok(!existsSync(`/proc/${pid}`) && !existsSync(join(socket, "..")));
  assert.equal(await screen.closed, undefined);
  assert.throws(() => screen.display, { code: "closed" });
  const [again] = await screen.start();
  expect((await connectTo(again!)).size).toEqual({ width: 640, height: 480 });
});

test.each(SERVERS)(
  "%s: nothing outlives a server that is killed, programs in sessions of their own included",
  async (server) => {
    const args = ["--import", "tsx", "--conditions=@envport/source"];
    const child = spawn(
      process.execPath,
      [...args, join(import.meta.dirname, "_testing_screen_program.ts"), server],
      {
        stdio: ["ignore", "pipe", "inherit"],
      },
    );
    onTestFinished(() => void child.kill("SIGKILL"));
    const [line] = (await once(createInterface(child.stdout), "line")) as [string];
    const { env, dial } = JSON.parse(line);
    const alive = async (): Promise<string[]> => {
      const { stdout } = await execute("sh", [
        "-c",
        `grep -lsz "^XAUTHORITY=${env.XAUTHORITY}\\$" /proc/[0-9]*/environ || true`,
      ]);
      return stdout.trim().split("\n").filter(Boolean);
    };
    await until("the program runs", async () => ((await alive()).length >= 2 ? true : undefined));
    child.kill("SIGKILL");
    const folder = join(dial.path, "..");
    await until("all is gone", async () =>
      (await alive()).length === 0 && !existsSync(folder) ? true : undefined,
    );
  },
);

test.each(SERVERS)("%s: a password is asked for where one was set", async (server) => {
  const { capability } = await startScreen({ server, password: "s3cret" });
  const { params, ...rest } = capability;
  await assert.rejects(RfbClient.connect({ ...rest, params: { ...params, password: "wrong" } }), {
    code: "authentication-failed",
  });
  const { password: _, ...without } = params;
  await assert.rejects(RfbClient.connect({ ...rest, params: without }), {
    code: "authentication-failed",
    message: /asks for a password/,
  });
  // As every client, ours looks at the first eight bytes only; where a password is set, more are refused.
  const client = await connectTo({ ...rest, params: { ...params, password: "s3cret" } });
  expect(client.size.width).toBe(640);
});

test("a password of more than 8 bytes, a wrong size and an unknown server are refused before anything starts", () => {
  assert.throws(() => makeScreen({ password: "123456789" }), RangeError);
  assert.throws(() => makeScreen({ width: 0 }), RangeError);
  assert.throws(() => makeScreen({ server: "vino" as "auto" }), TypeError);
});

test("a display that exists is served through x11vnc, in its own size, and goes on when the service stops", async () => {
  const { screen: owner } = await startScreen({ server: "tigervnc", width: 400, height: 300 });
  const before = process.env["XAUTHORITY"];
  process.env["XAUTHORITY"] = owner.env["XAUTHORITY"];
  onTestFinished(() => {
    if (before === undefined) delete process.env["XAUTHORITY"];
    else process.env["XAUTHORITY"] = before;
  });
  const { screen, capability } = await startScreen({ display: owner.display });
  assert.equal(screen.display, owner.display);
  const client = await connectTo(capability);
  expect(client.size).toEqual({ width: 400, height: 300 });
  await client.close();
  await screen.stop();
  expect((await connectTo(owner.capability)).size).toEqual({ width: 400, height: 300 });
});

test("a server that dies is told by closed, and takes the rest with it", async () => {
  const { screen } = await startScreen({ server: "x11vnc" });
  const socket = socketOf(screen);
  const { stdout } = await execute("sh", ["-c", `grep -lsa ${socket} /proc/[0-9]*/cmdline || true`]);
  const pids = stdout.split("\n").flatMap((file) => /^\/proc\/(\d+)/.exec(file)?.[1] ?? []);
  for (const pid of pids) {
    try {
      process.kill(Number(pid), "SIGKILL");
    } catch {
      // The shell that looked was one of them.
    }
  }
  expect((await screen.closed)?.message).toMatch(/^x11vnc has ended with SIGKILL$/);
  assert.ok(!existsSync(socket));
});

test("a program that does not exist fails the start, and leaves nothing", async () => {
  const screen = new Screen({ run: [["no-such-program-here"]] });
  await assert.rejects(screen.start(), { code: "service-failed", message: /'no-such-program-here'$/ });
  await screen.stop();
});

test("a client opens the screen of an environment through the one port", async () => {
  const env = new Environment({ name: "desktop" });
  const desktop = makeScreen({ width: 320, height: 200 });
  env.use(desktop);
  await using server = await serve(env, { port: 0 });
  await using client = await connectClient(server.url);
  const { data, width, height } = await (await client.open(rfb)).screenshot();
  assert.deepEqual([width, height, data.toString("latin1", 1, 4)], [320, 200, "PNG"]);
});
