import { execFile } from "node:child_process";
import { lookup } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import net from "node:net";
import os from "node:os";
import { promisify } from "node:util";
import vm from "node:vm";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { publicError, publicMessage } from "./_public_error.ts";
import { Daemon, served, stage, trackedEnvironment, until, work } from "./_testing.ts";
import { Environment } from "./environment.ts";

/** Not a literal: the compiler would look for it. */
const missingModule: string = ["", "srv", "env", "grader.js"].join("/");

async function caught(act: () => unknown): Promise<unknown> {
  try {
    await act();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

describe("errors on the wire", () => {
  test("ERR-1: an error has a code, a message and a machine-readable type, and nothing else", async () => {
    const { connect, park, env } = await stage();
    env.template("strict").run(async function* () {
      yield "p";
    });
    const client = await connect();
    const types: Record<string, [method: string, params?: object]> = {
      "no-task": ["tasks.grade"],
      "unknown-session": ["hello", { session_id: "sess-x" }],
      "unknown-task": ["tasks.start", { id: "zzz" }],
      "invalid-args": ["tasks.start", { id: "strict", args: { zz: 1 } }],
    };
    for (const [type, [method, params]] of Object.entries(types)) {
      const error = await client.error(method, params);
      expect(Object.keys(error).sort()).toEqual(["code", "data", "message"]);
      expect(error["data"].type).toBe(type);
    }
    const ids = [await park(1), await park(2)].sort();
    expect((await client.error("tasks.grade"))["data"]).toEqual({ type: "ambiguous", session_ids: ids });
    expect(Object.keys(await client.error("tasks.start", { id: "throws" }))).toEqual(["code", "message"]);
    const other = await connect();
    const live = await other.hello();
    expect((await client.error("hello", { session_id: live }))["data"]).toEqual({ type: "live-session" });
    const stream = await connect();
    stream.send({ id: 1, method: "tunnel.open", params: { capability: "x" } });
    expect((await stream.next())["error"].data).toEqual({ type: "unknown-capability" });
  });

  test("ERR-2: messages keep the words that peers match on", async () => {
    const { connect, park, env } = await stage();
    for (const [id, value] of [
      ["text", "x"],
      ["reward", { reward: 1 }],
    ] as const) {
      env.template(id).run(async function* () {
        yield "p";
        yield value;
      });
    }
    const client = await connect();
    const message = async (method: string, params?: object): Promise<string> =>
      (await client.error(method, params))["message"] as string;
    expect(await message("tasks.grade")).toBe("no task in progress");
    expect(await message("hello", { session_id: "sess-x" })).toBe("unknown session: 'sess-x'");
    expect(await message("tasks.start", { id: "zzz" })).toBe("unknown task: 'zzz'");
    expect(await message("nope")).toBe("method not found: nope");
    const live = await (await connect()).hello();
    expect(await message("hello", { session_id: live })).toBe(`session '${live}' has a live connection`);
    const ids = [await park(1), await park(2)].sort();
    expect(await message("tasks.grade")).toBe(
      `2 parked sessions (${ids.join(", ")}); resume one by sending hello with its session_id`,
    );
    await client.result("tasks.start", { id: "text" });
    expect(await message("tasks.grade")).toContain("yield a number");
    await client.result("tasks.start", { id: "reward" });
    expect(await message("tasks.grade")).toContain("'score'");
    const stream = await connect();
    stream.send({ id: 1, method: "tunnel.open", params: { capability: "zzz" } });
    expect((await stream.next())["error"].message).toBe("unknown capability: 'zzz'");
  });

  test("ERR-3: the message crosses the wire; stack, paths and system errors go to the log", async () => {
    const env = new Environment();
    const throwing: Record<string, () => unknown> = {
      purpose: () => {
        throw new Error("the tests are not there");
      },
      missing: () => readFile("/root/secret/answer.txt"),
      source: () => {
        throw new Error(`cannot read ${import.meta.filename} or file://${import.meta.dirname}/grader.ts:3`);
      },
      import: () => import(/* @vite-ignore */ missingModule),
    };
    for (const [id, act] of Object.entries(throwing)) {
      env.template(id).run(async function* () {
        await act();
        yield "p";
      });
    }
    const { connect, log } = await served(env);
    const client = await connect();
    const message = async (id: string): Promise<string> =>
      (await client.error("tasks.start", { id }))["message"] as string;
    expect(await message("purpose")).toBe("the tests are not there");
    expect(await message("missing")).toBe("ENOENT");
    expect(await message("source")).toBe("cannot read <path> or <path>:3");
    expect(await message("import")).not.toMatch(/srv|grader/);
    expect(log.entries.map(({ fields }) => String((fields["error"] as Error).stack)).join("\n")).toMatch(
      /the tests are not there\n\s+at [^]*answer\.txt/,
    );
  });

  test("ERR-3: a refused dial says its code, not the address", async () => {
    const { connect } = await served(
      new Environment({
        capabilities: [{ name: "db", protocol: "tcp/1", url: "tcp://127.0.0.1:1", params: {} }],
      }),
    );
    const client = await connect();
    client.send({ id: 1, method: "tunnel.open", params: { capability: "db" } });
    expect((await client.next())["error"].message).toBe("cannot reach capability 'db': ECONNREFUSED");
  });
});

describe("publicMessage()", () => {
  test("ERR-3: system errors are their code", async () => {
    expect(publicMessage(await caught(() => readFile("/nonexistent/x")))).toBe("ENOENT");
    const refused = await new Promise<Error>((resolve) => net.connect(1, "127.0.0.1").on("error", resolve));
    expect(publicMessage(refused)).toBe("ECONNREFUSED");
    expect(publicMessage(await caught(() => lookup("nothing.invalid")))).toMatch(/^E[A-Z_]+$/);
    expect(publicMessage(await caught(() => promisify(execFile)("/nonexistent/tool")))).toBe("ENOENT");
    const aggregate = new AggregateError([refused], "");
    expect(publicMessage(Object.assign(aggregate, { code: "ECONNREFUSED" }))).toBe("ECONNREFUSED");
  });

  test("ERR-3: a failed command shows neither its command line nor what it printed", async () => {
    const run = promisify(execFile);
    const error = await caught(() =>
      run(process.execPath, ["-e", "console.error('SECRET'); process.exit(3)"]),
    );
    expect(publicMessage(error)).toBe("a command failed");
  });

  test.each([
    ["the home folder", () => `${os.homedir()}/.ssh/id_ed25519 is missing`, "<path> is missing"],
    ["the current folder", () => `open '${process.cwd()}/env.ts'`, "open '<path>'"],
    ["the temporary folder", () => `${os.tmpdir()}/x-1/key: bad`, "<path>: bad"],
    ["file URLs", () => "at file:///srv/app/env.ts, line 3", "at <path>, line 3"],
    ["only whole folders", () => `${os.tmpdir()}fs and ${os.tmpdir()}`, `${os.tmpdir()}fs and <path>`],
    ["nothing of the guest", () => "/workspace/sum.js: 1 !== 2", "/workspace/sum.js: 1 !== 2"],
    ["a stack trace", () => "bad\n    at f (/srv/env.ts:1:2)\n    at g", "bad"],
    [
      "credentials in a url",
      () => "cannot reach ssh://agent:pass@host:22/x",
      "cannot reach ssh://<credentials>@host:22/x",
    ],
    [
      "a private key",
      () => "bad key -----BEGIN OPENSSH PRIVATE KEY-----\nabc\n-----END OPENSSH PRIVATE KEY-----!",
      "bad key <private key>!",
    ],
    ["half a private key", () => "bad key -----BEGIN PRIVATE KEY-----\nabc", "bad key <private key>"],
  ])("ERR-3: it hides %s", (_, message, shown) => {
    expect(publicMessage(new Error(message()))).toBe(shown);
    expect(publicMessage(message())).toBe(shown);
  });

  test("ERR-3: it hides paths beside the files that the error's stack goes through", () => {
    const error = new Error("cannot load /srv/env/answers.json from /srv/environment");
    error.stack = `Error: x\n    at grade (/srv/env/env.ts:3:4)\n    at file:///opt/tools/t.mjs:1:1\n    at node:internal/x:1:1`;
    expect(publicMessage(error)).toBe("cannot load <path> from /srv/environment");
  });

  const cyclic: Record<string, unknown> = { code: "x" };
  cyclic["self"] = cyclic;
  test.each([
    ["a string", "plain words", "plain words"],
    ["undefined", undefined, "a value that is no Error was thrown"],
    ["a bigint", 1n, "a value that is no Error was thrown"],
    ["a cycle", cyclic, "a value that is no Error was thrown"],
    ["an object without a prototype", Object.create(null), "a value that is no Error was thrown"],
    ["an error without a message", new RangeError(), "RangeError"],
    ["an error of another realm", vm.runInNewContext("new Error('elsewhere')"), "elsewhere"],
    [
      "an error whose message is no string",
      Object.assign(new Error(), { message: { a: 1 } }),
      "[object Object]",
    ],
    [
      "an error that cannot be read",
      Object.defineProperty(new Error(), "message", {
        get: () => {
          throw new Error("no");
        },
      }),
      "an error that cannot be read was thrown",
    ],
  ])("makes a sentence of %s", (_, error, message) => {
    expect(publicError(error)).toMatchObject({ code: -32000, message });
  });
});

const THROWN: [what: string, thrown: () => unknown][] = [
  ["a bigint", () => 1n],
  [
    "a cycle",
    () => {
      const a: Record<string, unknown> = {};
      a["a"] = a;
      return a;
    },
  ],
  ["undefined", () => undefined],
];
test.each(THROWN)("CONN-2: a task that throws %s fails alone", async (_, thrown) => {
  const { env } = trackedEnvironment();
  env.template("odd").run(async function* () {
    throw thrown();
  });
  // The log on standard error is the one that has to print it.
  const printed = vi.spyOn(process.stderr, "write").mockReturnValue(true);
  onTestFinished(() => printed.mockRestore());
  const { connect } = await served(env, { logger: undefined });
  const [client, other] = await Promise.all([connect(), connect()]);
  await other.result("tasks.start", work(1));
  expect(await client.error("tasks.start", { id: "odd" })).toMatchObject({ code: -32000 });
  expect(await other.result("tasks.grade")).toEqual({ score: 1.5 });
  expect(await client.hello()).toMatch(/^sess-/);
  expect(printed).toHaveBeenCalled();
});

test("what a client is told of a daemon that died hides paths too", async () => {
  const daemon = await Daemon.listen();
  let die!: (reason: Error) => void;
  const closed = new Promise<Error>((resolve) => (die = resolve));
  const env = new Environment();
  env.use({ name: "d", start: async () => [daemon.capability("d")], stop: async () => {}, closed });
  const { connect } = await served(env);
  die(new Error(`${os.homedir()}/daemon.js exited with code 1`));
  await until(() => env.downReason("d") !== undefined);
  const client = await connect();
  client.send({ id: 1, method: "tunnel.open", params: { capability: "d" } });
  expect((await client.next())["error"].message).toBe("capability 'd' is down: <path> exited with code 1");
});
