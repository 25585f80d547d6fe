import { setTimeout as sleep } from "node:timers/promises";
import type { PublishedCapability, Service } from "@envport/wire";
import { describe, expect, test, vi } from "vitest";
import { Daemon, gate, served, until } from "./_testing.ts";
import { Environment } from "./environment.ts";

interface FakeService extends Service {
  die(reason?: Error): void;
}

interface FakeOptions {
  capabilities?: PublishedCapability[];
  start?: (signal: AbortSignal | undefined) => Promise<void>;
  stop?: () => Promise<void>;
}

/** A service that notes when it is started and stopped. */
function fake(
  name: string,
  events: string[],
  { capabilities = [], start, stop }: FakeOptions = {},
): FakeService {
  let die!: (reason?: Error) => void;
  let closed: Promise<Error | undefined>;
  return {
    name,
    async start({ signal } = {}) {
      closed = new Promise((resolve) => (die = resolve));
      events.push(`${name} starts`);
      await start?.(signal);
      events.push(`${name} started`);
      return capabilities;
    },
    async stop() {
      events.push(`${name} stops`);
      await stop?.();
      die();
    },
    get closed() {
      return closed;
    },
    die: (reason) => die(reason),
  };
}

function tcp(name: string, port = 1): PublishedCapability {
  return { name, protocol: "tcp/1", url: `tcp://127.0.0.1:${String(port)}`, params: {} };
}

function untilAborted(signal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => signal!.addEventListener("abort", () => reject(signal!.reason as Error)));
}

describe("services", () => {
  test("start side by side where they do not depend on each other, and stop in reverse", async () => {
    const events: string[] = [];
    const env = new Environment();
    const open = gate();
    const a = env.use(fake("a", events, { start: () => open.opened }));
    const b = env.use(fake("b", events, { start: async () => open.open() }));
    const c = env.use(fake("c", events), { after: [a, b] });
    env.use(fake("d", events), { after: [c] });
    await env.start();
    expect(events.slice(0, 2)).toEqual(["a starts", "b starts"]);
    expect(events.slice(-4)).toEqual(["c starts", "c started", "d starts", "d started"]);
    events.length = 0;
    expect(await env.stop()).toEqual([]);
    expect(events).toEqual(["d stops", "c stops", "b stops", "a stops"]);
    expect(await env.stop()).toEqual([]);
    expect(events.length).toBe(4);
  });

  test("are started, then hooks run in order; stopping is the reverse", async () => {
    const events: string[] = [];
    const env = new Environment();
    env.use(fake("s", events, { capabilities: [tcp("s")] }));
    for (const name of ["one", "two"]) {
      env.initialize(async () => {
        await sleep(2);
        events.push(`initialize ${name}, ${env.capability("s").url}`);
      });
      env.shutdown(() => void events.push(`shutdown ${name}`));
    }
    await Promise.all([env.start(), env.start()]);
    await env.stop();
    expect(events).toEqual([
      "s starts",
      "s started",
      "initialize one, tcp://127.0.0.1:1",
      "initialize two, tcp://127.0.0.1:1",
      "shutdown two",
      "shutdown one",
      "s stops",
    ]);
  });

  test("publish what they return, until they are stopped; then they can be started again", async () => {
    const env = new Environment({ capabilities: [tcp("mine", 7)] });
    env.use(fake("s", [], { capabilities: [tcp("x", 2), tcp("y", 3)] }));
    for (let round = 0; round < 2; round++) {
      await env.start();
      expect(env.capabilities.map(({ name }) => name)).toEqual(["mine", "x", "y"]);
      await env.stop();
      expect(env.capabilities.map(({ name }) => name)).toEqual(["mine"]);
    }
  });

  test("that fail stop what had started, and the error names them", async () => {
    const events: string[] = [];
    const env = new Environment();
    const a = env.use(fake("a", events));
    const broken = { start: () => Promise.reject(new Error("no such program: Xvfb")) };
    const b = env.use(fake("b", events, broken), { after: [a] });
    env.use(fake("c", events), { after: [b] });
    env.initialize(() => void events.push("initialize"));
    await expect(env.start()).rejects.toMatchObject({
      code: "service-failed",
      message: "Cannot start service 'b': no such program: Xvfb",
      cause: new Error("no such program: Xvfb"),
    });
    expect(events).toEqual(["a starts", "a started", "b starts", "b stops", "a stops"]);
  });

  test("that start side by side are told to give up when one fails, and nothing is left half started", async () => {
    const events: string[] = [];
    const env = new Environment();
    env.use(fake("slow", events, { start: (signal) => untilAborted(signal) }));
    env.use(fake("broken", events, { start: () => Promise.reject(new Error("bad")) }));
    await expect(env.start()).rejects.toThrow("Cannot start service 'broken': bad");
    expect(events).toEqual(["slow starts", "broken starts", "broken stops", "slow stops"]);
  });

  test("of one capability name are refused, naming both", async () => {
    const events: string[] = [];
    const env = new Environment();
    env.use(fake("a", events, { capabilities: [tcp("shell")] }));
    env.use(fake("b", events, { capabilities: [tcp("shell")] }));
    await expect(env.start()).rejects.toThrow(/'shell' of service 'b' as service 'a'/);
    expect(events.slice(-2)).toEqual(["b stops", "a stops"]);
    expect(env.capabilities).toEqual([]);
  });

  test("whose start is given up are stopped, also one that does not heed the signal", async () => {
    const events: string[] = [];
    const controller = new AbortController();
    const open = gate();
    const env = new Environment();
    env.use(fake("deaf", events, { start: () => open.opened }));
    const starting = env.start({ signal: controller.signal });
    starting.catch(() => {});
    await until(() => events.includes("deaf starts"));
    controller.abort(new Error("given up"));
    expect(await env.stop()).toEqual([]);
    open.open();
    await expect(starting).rejects.toThrow("given up");
    // Once in the middle of its start, and once more when that was over.
    expect(events).toEqual(["deaf starts", "deaf stops", "deaf started", "deaf stops"]);
  });

  test("that do not stop do not keep the others from stopping", async () => {
    vi.useFakeTimers();
    try {
      const events: string[] = [];
      const env = new Environment();
      env.use(fake("a", events));
      env.use(fake("b", events, { stop: () => new Promise(() => {}) }));
      env.use(fake("c", events, { stop: () => Promise.reject(new Error("cannot kill it")) }));
      env.shutdown(function sweep() {
        return new Promise(() => {});
      });
      env.shutdown(() => {
        throw new Error("cannot tidy");
      });
      await env.start();
      const stopping = env.stop();
      await vi.advanceTimersByTimeAsync(20_000);
      const failures = (await stopping).map(String);
      expect(events.slice(-3)).toEqual(["c stops", "b stops", "a stops"]);
      expect(failures).toEqual([
        "Error: cannot tidy",
        expect.stringMatching(/shutdown hook sweep .* 4000 ms/),
        "Error: cannot kill it",
        expect.stringMatching(/service 'b' .* 4000 ms/),
      ]);
    } finally {
      vi.useRealTimers();
    }
  });

  test("are refused twice, and where what they need is not in use", () => {
    const env = new Environment();
    const a = env.use(fake("a", []));
    expect(() => env.use(a)).toThrow("Cannot use service 'a' as it is in use already");
    expect(() => env.use(fake("c", []), { after: [fake("b", [])] })).toThrow(
      "as 'b', which it needs, is not in use yet",
    );
  });

  test("that die take their bindings down: tunnel.open says why, and hello still lists them", async () => {
    const daemon = await Daemon.listen();
    const env = new Environment();
    const service = env.use(fake("browser", [], { capabilities: [daemon.capability("cdp")] }));
    const { connect } = await served(env);
    expect(env.downReason("cdp")).toBe(undefined);
    service.die(new Error("it was killed by SIGKILL"));
    await until(() => env.downReason("cdp") !== undefined);
    const client = await connect();
    client.send({ id: 1, method: "tunnel.open", params: { capability: "cdp" } });
    expect(await client.next()).toMatchObject({
      error: { message: "capability 'cdp' is down: it was killed by SIGKILL", data: { type: "dial-failed" } },
    });
    const session = await connect();
    expect((await session.result("hello"))["bindings"]).toHaveLength(1);
    expect(daemon.connections).toEqual([]);
  });

  test("that were stopped and started again are up, whatever the first daemon's end comes to", async () => {
    const env = new Environment();
    let end!: (reason: Error) => void;
    let starts = 0;
    const first = new Promise<Error>((resolve) => (end = resolve));
    env.use({
      name: "s",
      start: async () => {
        starts++;
        return [tcp("s")];
      },
      stop: async () => {},
      get closed() {
        return starts === 1 ? first : new Promise<undefined>(() => {});
      },
    });
    await env.start();
    await env.stop();
    await env.start();
    end(new Error("late"));
    await sleep(5);
    expect(env.downReason("s")).toBe(undefined);
  });

  test("whose `closed` rejects are down too, and nothing else happens", async () => {
    const env = new Environment();
    env.use({
      name: "s",
      start: async () => [tcp("s")],
      stop: async () => {},
      closed: Promise.reject(new Error("crashed")),
    });
    await env.start();
    await until(() => env.downReason("s") === "crashed");
  });
});

describe("hooks", () => {
  test("an initialize hook that fails is named, and what had started is stopped", async () => {
    const events: string[] = [];
    const env = new Environment({ name: "coder" });
    env.use(fake("s", events));
    env.initialize(() => void events.push("first"));
    env.initialize(function seedDatabase() {
      throw new Error("the dump is missing");
    });
    env.initialize(() => void events.push("never"));
    env.shutdown(() => void events.push("shutdown"));
    await expect(env.start()).rejects.toMatchObject({
      code: "service-failed",
      message:
        "Cannot start environment 'coder' as its initialize hook seedDatabase failed: the dump is missing",
    });
    expect(events).toEqual(["s starts", "s started", "first", "shutdown", "s stops"]);
  });

  test("what does not stop after a failed start is told too", async () => {
    const env = new Environment({ name: "e" });
    env.use(fake("s", [], { stop: () => Promise.reject(new Error("it hangs")) }));
    env.initialize(() => {
      throw new Error("bad");
    });
    await expect(env.start()).rejects.toThrow(
      /hook number 1 failed: bad; what had started did not stop cleanly: it hangs/,
    );
  });

  test("an initialize hook is told when the start is given up, and its end is waited for", async () => {
    const events: string[] = [];
    const controller = new AbortController();
    const env = new Environment();
    env.use(fake("s", events));
    env.initialize(async ({ signal }) => {
      await untilAborted(signal).catch(() => sleep(20));
      events.push("hook over");
      throw new Error("no matter");
    });
    env.initialize(() => void events.push("never"));
    const starting = env.start({ signal: controller.signal });
    await until(() => events.includes("s started"));
    controller.abort(new Error("given up"));
    await expect(starting).rejects.toThrow("given up");
    expect(events).toEqual(["s starts", "s started", "hook over", "s stops"]);
  });

  test("task-end hooks all run, whatever one of them does", async () => {
    const env = new Environment();
    const seen: string[] = [];
    env.onTaskEnd(() => {
      throw new Error("first");
    });
    env.onTaskEnd(async (session) => void seen.push(session));
    expect(await env.runTaskEndHooks("sess-1")).toEqual([new Error("first")]);
    expect(seen).toEqual(["sess-1"]);
  });
});

describe("capabilities", () => {
  test("are published in order; one of the same name is replaced in its place", () => {
    const env = new Environment({ capabilities: [tcp("a"), tcp("b")] });
    env.addCapability(tcp("c"));
    env.addCapability({ ...tcp("a", 9), dial: { path: "/run/x.sock" } });
    expect(env.toBindings()).toEqual([
      { name: "a", protocol: "tcp/1", url: "tcp://127.0.0.1:9", params: {} },
      { name: "b", protocol: "tcp/1", url: "tcp://127.0.0.1:1", params: {} },
      { name: "c", protocol: "tcp/1", url: "tcp://127.0.0.1:1", params: {} },
    ]);
    expect(env.capability("a").dial).toEqual({ path: "/run/x.sock" });
    expect(() => env.capability("zzz")).toThrow("Cannot find capability 'zzz': published are a, b, c");
  });

  test.each([
    [{ ...tcp("x"), name: "" }, "a name and a protocol"],
    [{ ...tcp("x"), protocol: "" }, "a name and a protocol"],
    [{ ...tcp("x"), url: "" }, "has no url"],
    [{ ...tcp("x"), url: "127.0.0.1:22" }, "scheme://host:port"],
    [{ ...tcp("x"), url: "tcp://host:99999" }, "port"],
  ])("%j is refused where it is added", (capability, words) => {
    const env = new Environment();
    expect(() => env.addCapability(capability)).toThrow(words);
    expect(() => new Environment({ capabilities: [capability] })).toThrow(TypeError);
    expect(env.capabilities).toEqual([]);
  });

  test("an environment has a name and a version, or the defaults", () => {
    expect(new Environment()).toMatchObject({ name: "environment", version: "0.0.1" });
    expect(new Environment({ name: "n", version: "2.0.0" })).toMatchObject({ name: "n", version: "2.0.0" });
  });
});
