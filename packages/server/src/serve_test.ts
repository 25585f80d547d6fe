import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import {
  LineClient,
  RecordingLogger,
  freePort,
  gate,
  served,
  stage,
  trackedEnvironment,
  until,
  work,
} from "./_testing.ts";
import { Environment } from "./environment.ts";
import type { ServeOptions } from "./serve.ts";
import { serve } from "./serve.ts";

const quiet = { logger: new RecordingLogger() };

describe("binding", () => {
  test("CONN-6: it binds 127.0.0.1 and any free port unless told otherwise", async () => {
    const { server } = await served();
    expect(server.url).toBe(`tcp://127.0.0.1:${server.port}`);
    expect(server.port).toBeGreaterThan(1023);
    const port = await freePort();
    const { server: chosen } = await served(new Environment(), { port });
    expect(chosen.port).toBe(port);
    // Nobody else's address leads to it.
    const refused = await new Promise<NodeJS.ErrnoException>((resolve) =>
      net.connect(port, "127.0.0.2").on("error", resolve),
    );
    expect(refused.code).toBe("ECONNREFUSED");
  });

  test.each(["0.0.0.0", "::", "10.0.0.7", "example.test", "", "127.0.0.1.evil.test", "::ffff:127.0.0.1"])(
    "CONN-6: host %j is refused without insecure, before anything starts",
    async (host) => {
      const env = new Environment();
      env.initialize(() => expect.fail("it was started"));
      await expect(serve(env, { ...quiet, host })).rejects.toThrow(/Cannot serve on host .* insecure: true/);
      await expect(serve(env, { ...quiet, host })).rejects.toThrow(TypeError);
    },
  );

  test("CONN-6: with insecure it binds what it is told", async () => {
    const { server } = await served(undefined, { host: "0.0.0.0", insecure: true });
    expect(server.url).toBe(`tcp://0.0.0.0:${server.port}`);
    const client = await LineClient.connect(server.port, "127.0.0.2");
    expect(await client.hello()).toMatch(/^sess-/);
  });

  test.each(["localhost", "127.0.0.3", "::1"])(
    "CONN-6: loopback is bound without further ado: %s",
    async (host) => {
      const { server } = await served(undefined, { host });
      const client = await LineClient.connect(server.port, host);
      expect(await client.hello()).toMatch(/^sess-/);
      expect(server.url).toBe(host === "::1" ? `tcp://[::1]:${server.port}` : `tcp://${host}:${server.port}`);
    },
  );

  test("CONN-6: HUD_SERVE_PORT is printed when asked for, once all is up, and only then", async () => {
    const events: string[] = [];
    const write = vi.spyOn(process.stdout, "write").mockImplementation((text) => {
      events.push(String(text));
      return true;
    });
    onTestFinished(() => write.mockRestore());
    const env = new Environment();
    env.use({
      name: "s",
      start: async () => {
        await sleep(10);
        events.push("service");
        return [];
      },
      stop: async () => {},
    });
    env.initialize(async () => {
      await sleep(10);
      events.push("hook");
    });
    const { server } = await served(env, { announce: true });
    await served(new Environment());
    expect(events).toEqual(["service", "hook", `HUD_SERVE_PORT=${server.port}\n`]);
  });

  test("CONN-6: a failing service stops what had started, and no port is bound", async () => {
    const events: string[] = [];
    const env = new Environment();
    const daemon = env.use({
      name: "daemon",
      start: async () => [],
      stop: async () => void events.push("daemon stops"),
    });
    env.use(
      { name: "screen", start: () => Promise.reject(new Error("no Xvfb")), stop: async () => {} },
      { after: [daemon] },
    );
    const port = await freePort();
    await expect(serve(env, { ...quiet, port })).rejects.toThrow("Cannot start service 'screen': no Xvfb");
    expect(events).toEqual(["daemon stops"]);
    const refused = await new Promise<NodeJS.ErrnoException>((resolve) =>
      net.connect(port, "127.0.0.1").on("error", resolve),
    );
    expect(refused.code).toBe("ECONNREFUSED");
  });

  test("an address that is taken is an error that names it, and what had started is stopped", async () => {
    const { server } = await served();
    const events: string[] = [];
    const env = new Environment();
    env.use({ name: "s", start: async () => [], stop: async () => void events.push("s stops") });
    env.shutdown(() => void events.push("shutdown"));
    await expect(serve(env, { ...quiet, port: server.port })).rejects.toMatchObject({
      code: "address-in-use",
      message: expect.stringContaining(`127.0.0.1:${server.port}`),
    });
    expect(events).toEqual(["shutdown", "s stops"]);
  });

  test.each<ServeOptions>([
    { port: -1 },
    { port: 70_000 },
    { port: NaN },
    { prefaceTimeout: Infinity },
    { prefaceTimeout: -1 },
    { cancelGrace: 2 ** 31 },
    { shutdownGrace: NaN },
    { maxFrameBytes: "1" as never },
    { maxConnections: -5 },
  ])("a number that makes no sense is refused: %j", async (options) => {
    const env = new Environment();
    env.initialize(() => expect.fail("it was started"));
    await expect(serve(env, { ...quiet, ...options })).rejects.toThrow(RangeError);
  });

  test("options that are undefined are the defaults, and a task may be parked for ever", async () => {
    const { server } = await served(undefined, {
      port: undefined,
      host: undefined,
      parkTtl: Infinity,
      resultTtl: Infinity,
    });
    expect(server.port).toBeGreaterThan(0);
    const { park, server: other } = await stage({ parkTtl: Infinity });
    await park(1);
    await sleep(20);
    expect(other.stats().sessions.parked).toBe(1);
  });
});

describe("close()", () => {
  test("TASK-11: every live and parked task is cancelled and cleaned up, then hooks and services stop in reverse", async () => {
    const { events, env, connect, park, server } = await stage();
    env.shutdown(() => void events.push("shutdown 1"));
    env.shutdown(() => void events.push("shutdown 2"));
    await park(1);
    const [live, starting, grading, idle] = await Promise.all([connect(), connect(), connect(), connect()]);
    await idle.hello();
    await live.result("tasks.start", work(2));
    await grading.result("tasks.start", work(3, "grade"));
    const start = starting.request("tasks.start", work(4, "start"));
    const waiting = starting.request("tasks.grade");
    const grade = grading.request("tasks.grade");
    await until(() => events.includes("start 4") && events.includes("grade 3"));
    const closing = server.close();
    expect(server.close()).toBe(closing);
    await closing;
    for (const [client, id] of [
      [starting, start],
      [starting, waiting],
      [grading, grade],
    ] as const) {
      expect(await client.reply(id)).toMatchObject({
        error: { code: -32000, data: { type: "cancelled" } },
      });
    }
    for (const client of [live, starting, grading, idle]) await client.ended;
    for (const k of [1, 2, 3, 4]) expect(events.filter((event) => event === `end ${k}`).length).toBe(1);
    expect(events.filter((event) => event.startsWith("hook")).length).toBe(4);
    expect(events.slice(-2)).toEqual(["shutdown 2", "shutdown 1"]);
    const refused = await new Promise<NodeJS.ErrnoException>((resolve) =>
      net.connect(server.port, "127.0.0.1").on("error", resolve),
    );
    expect(refused.code).toBe("ECONNREFUSED");
    expect(server.stats()).toMatchObject({ sessions: { live: 0, parked: 0 } });
  });

  test("TASK-11: it waits for a clean-up that is running already, and stops nothing before", async () => {
    const { events, env, connect, gates, server } = await stage();
    env.shutdown(() => void events.push("shutdown"));
    const client = await connect();
    await client.result("tasks.start", work(1, "end"));
    client.request("tasks.cancel");
    await until(() => events.includes("end 1"));
    const closing = server.close();
    await sleep(20);
    expect(events).not.toContain("shutdown");
    gates.get(1)!.open();
    await closing;
    expect(events).toEqual(["start 1", "end 1", expect.stringContaining("hook"), "shutdown"]);
  });

  test("TASK-11: nothing new is started once it has begun, and a new connection is refused", async () => {
    const { events, connect, gates, server } = await stage();
    const [client, other] = await Promise.all([connect(), connect()]);
    await other.hello();
    await client.result("tasks.start", work(1, "end"));
    const closing = server.close();
    await until(() => events.includes("end 1"));
    expect(await other.error("tasks.start", work(2))).toMatchObject({ data: { type: "cancelled" } });
    await expect(connect()).rejects.toThrow();
    gates.get(1)!.open();
    await closing;
    expect(events).not.toContain("start 2");
  });

  test("TASK-11: what ignores the stop is left, and services are stopped all the same, within shutdownGrace", async () => {
    const events: string[] = [];
    const env = new Environment();
    env.use({ name: "s", start: async () => [], stop: async () => void events.push("s stops") });
    env.template("stubborn").run(async function* () {
      await new Promise(() => {});
      yield "p";
    });
    const log = new RecordingLogger();
    const server = await serve(env, { logger: log, cancelGrace: 60_000, shutdownGrace: 400 });
    const client = await LineClient.connect(server.port);
    client.request("tasks.start", { id: "stubborn" });
    await client.call("ping");
    const began = performance.now();
    await server.close();
    expect(performance.now() - began).toBeLessThan(5_000);
    expect(events).toEqual(["s stops"]);
    await client.ended;
  });

  test("TASK-11: a start of the environment that hangs is given up", async () => {
    const events: string[] = [];
    const env = new Environment();
    const open = gate();
    env.use({
      name: "deaf",
      start: async () => {
        events.push("deaf starts");
        await open.opened;
        return [];
      },
      stop: async () => void events.push("deaf stops"),
    });
    const before = process.listenerCount("SIGTERM");
    const serving = serve(env, { ...quiet, signals: true, shutdownGrace: 200 });
    const exit = vi.spyOn(process, "exit").mockImplementation((() => {}) as never);
    onTestFinished(() => exit.mockRestore());
    await until(() => events.includes("deaf starts"));
    process.emit("SIGTERM");
    await until(() => events.includes("deaf stops"));
    await until(() => exit.mock.calls.length > 0);
    expect(exit.mock.calls[0]).toEqual([0]);
    // It never says that it serves.
    expect(await Promise.race([serving, sleep(300, "nothing")])).toBe("nothing");
    open.open();
    for (const name of ["SIGTERM", "SIGINT"]) {
      for (const listener of process.listeners(name as "SIGTERM").slice(before)) process.off(name, listener);
    }
  });

  test("signals are listened to only while it serves", async () => {
    const counts = (): number[] => [process.listenerCount("SIGTERM"), process.listenerCount("SIGINT")];
    const before = counts();
    const server = await serve(new Environment(), { ...quiet, signals: true });
    expect(counts()).toEqual(before.map((count) => count + 1));
    await server.close();
    expect(counts()).toEqual(before);
    const env = new Environment();
    env.initialize(() => {
      throw new Error("bad");
    });
    await expect(serve(env, { ...quiet, signals: true })).rejects.toThrow("bad");
    expect(counts()).toEqual(before);
  });

  test("it is also what `await using` calls, and it tells with an event", async () => {
    let port: number;
    const events: string[] = [];
    {
      await using server = await serve(new Environment(), quiet);
      server.on("close", () => events.push("close"));
      port = server.port;
      expect(await (await LineClient.connect(port)).hello()).toMatch(/^sess-/);
    }
    expect(events).toEqual(["close"]);
    await expect(LineClient.connect(port)).rejects.toThrow("ECONNREFUSED");
  });

  test("the same environment can be served again", async () => {
    const { env, events } = trackedEnvironment();
    for (let k = 1; k <= 2; k++) {
      const server = await serve(env, quiet);
      const client = await LineClient.connect(server.port);
      expect(await client.result("tasks.start", work(k))).toEqual({ prompt: `go:${k}` });
      await server.close();
    }
    expect(events.filter((event) => !event.startsWith("hook"))).toEqual([
      "start 1",
      "end 1",
      "start 2",
      "end 2",
    ]);
  });
});
