import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { Daemon, LineClient, RecordingLogger, trackedEnvironment, until, work } from "./_testing.ts";
import type { Frame } from "./_testing.ts";
import type { AccessTokens } from "./access_tokens.ts";
import type { Environment } from "./environment.ts";
import { serve } from "./serve.ts";
import type { Server } from "./serve.ts";

const ORCHESTRATOR = "orchestrator-0123456789abcdef";
const AGENT = "agent-0123456789abcdef0123";
const OTHER = "another-orchestrator-012345";
const UNAUTHORIZED = { code: -32001, message: "authentication required", data: { type: "unauthorized" } };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "envport-test-"));
});
afterAll(() => rm(folder, { recursive: true }));

interface Guarded {
  server: Server;
  env: Environment;
  log: RecordingLogger;
  connect(): Promise<LineClient>;
  /** A connection that said hello with a token. */
  enter(token: string, params?: object): Promise<LineClient>;
}

async function guarded(
  tokens: AccessTokens = { orchestrator: [ORCHESTRATOR, OTHER], agent: AGENT },
): Promise<Guarded> {
  const { env } = trackedEnvironment();
  const daemon = await Daemon.listen(({ socket }) => void socket.pipe(socket));
  env.addCapability(daemon.capability("echo"));
  env.addCapability({ ...daemon.capability("watch"), protocol: "filetracking/1" });
  const log = new RecordingLogger();
  const server = await serve(env, { tokens, logger: log });
  onTestFinished(() => server.close());
  const connect = (): Promise<LineClient> => LineClient.connect(server.port);
  const enter = async (token: string, params: object = {}): Promise<LineClient> => {
    const client = await connect();
    await client.result("hello", { ...params, token });
    return client;
  };
  return { server, env, log, connect, enter };
}

/** Sends a first frame and reads what comes: its reply, and whether the connection was closed behind it. */
async function first(
  client: LineClient,
  method: string,
  params: object,
): Promise<{ frame: Frame; closed: boolean }> {
  client.request(method, params);
  const frame = await client.next();
  const closed = await Promise.race([
    client.ended.then(() => true),
    new Promise<boolean>((resolve) => setTimeout(() => resolve(false), 300)),
  ]);
  return { frame, closed };
}

const METHODS: [method: string, params: object][] = [
  ["hello", {}],
  ["ping", {}],
  ["bye", {}],
  ["tasks.list", {}],
  ["tasks.start", work(1)],
  ["tasks.grade", { answer: "x" }],
  ["tasks.cancel", {}],
  ["tunnel.open", { capability: "echo" }],
  ["tunnel.open", { capability: "watch" }],
];

/** What a token is that is none of ours. */
const WRONG: [name: string, params: object][] = [
  ["none", {}],
  ["wrong", { token: "wrong-0123456789abcdef" }],
  ["right with a line end", { token: `${ORCHESTRATOR}\n` }],
  ["a prefix", { token: ORCHESTRATOR.slice(0, -1) }],
  ["empty", { token: "" }],
  ["a number", { token: 1 }],
  ["an array", { token: [ORCHESTRATOR] }],
  ["an object", { token: { toString: ORCHESTRATOR } }],
  ["null", { token: null }],
  ["in another member", { Token: ORCHESTRATOR }],
];

describe("SESS-10: no first frame is served without a right token", () => {
  test.each(METHODS)("%s %j", async (method, params) => {
    const { server, connect, log } = await guarded();
    for (const [, credentials] of WRONG.slice(0, 3)) {
      const { frame, closed } = await first(await connect(), method, { ...params, ...credentials });
      expect([frame["error"], closed]).toEqual([UNAUTHORIZED, true]);
    }
    expect(server.stats()).toMatchObject({ sessions: { live: 0, parked: 0 }, streams: {} });
    expect(JSON.stringify(log.entries)).not.toContain(ORCHESTRATOR);
  });

  test.each(WRONG)("the token is %s", async (_name, credentials) => {
    const { connect } = await guarded();
    const { frame, closed } = await first(await connect(), "hello", credentials);
    expect([frame["error"], closed]).toEqual([UNAUTHORIZED, true]);
  });

  test("a token of a megabyte is a first line over the limit", async () => {
    const { connect } = await guarded();
    const { frame, closed } = await first(await connect(), "hello", { token: "x".repeat(2 ** 20) });
    expect([(frame["error"] as Frame)["code"], closed]).toEqual([-32600, true]);
  });

  test("what follows a refused frame is never read", async () => {
    const { server, connect } = await guarded();
    const client = await connect();
    client.send(
      { id: 1, method: "hello", params: {} },
      { id: 2, method: "hello", params: { token: ORCHESTRATOR } },
      { id: 3, method: "tasks.start", params: work(1) },
    );
    await client.ended;
    expect(client.frames).toHaveLength(1);
    expect(server.stats().sessions).toEqual({ live: 0, parked: 0 });
  });
});

/** Role × method, with a right token. */
describe("SESS-10: what a role may do", () => {
  test.each<
    [role: string, token: string, allowed: (method: string, capability: string | undefined) => boolean]
  >([
    ["orchestrator", ORCHESTRATOR, () => true],
    ["agent", AGENT, (method, capability) => !method.startsWith("tasks.") && capability !== "watch"],
  ])("%s", async (_role, token, allowed) => {
    const { enter, connect } = await guarded();
    for (const [method, params] of METHODS) {
      const capability = (params as { capability?: string }).capability;
      const isTunnel = method === "tunnel.open";
      const client = isTunnel ? await connect() : await enter(token);
      const { error } = await client.call(method, isTunnel ? { ...params, token } : params);
      const refused = (error as Frame | undefined)?.["data"]?.type as string | undefined;
      const wanted = allowed(method, capability)
        ? [undefined, "no-task"]
        : ["forbidden", "unknown-capability"];
      expect(wanted, `${method} ${capability ?? ""}`).toContain(refused);
    }
  });

  test("an agent's manifest has what it may open, and no more", async () => {
    const { connect } = await guarded();
    const names = async (token: string): Promise<string[]> => {
      const { bindings } = await (await connect()).result("hello", { token });
      return (bindings as { name: string }[]).map(({ name }) => name);
    };
    expect(await names(ORCHESTRATOR)).toEqual(["echo", "watch"]);
    expect(await names(AGENT)).toEqual(["echo"]);
  });

  test("an agent's refused call leaves its connection as it was", async () => {
    const { enter } = await guarded();
    const client = await enter(AGENT);
    expect(await client.error("tasks.grade", { answer: "1" })).toMatchObject({
      code: -32001,
      data: { type: "forbidden" },
    });
    expect(await client.result("ping")).toEqual({});
  });
});

describe("SESS-10: sessions belong to the holder of a token", () => {
  test("nobody else resumes, takes over or adopts a task", async () => {
    const { server, enter } = await guarded();
    const owner = await enter(ORCHESTRATOR);
    const id = await owner.hello();
    await owner.result("tasks.start", work(7));
    for (const token of [OTHER, AGENT]) {
      const stranger = await enter(token);
      expect((await stranger.error("hello", { session_id: id, takeover: true })).data.type).toBe(
        "unknown-session",
      );
    }
    owner.destroy();
    await until(() => server.stats().sessions.parked === 1, "the session being parked");
    const stranger = await enter(OTHER);
    expect((await stranger.error("hello", { session_id: id })).data.type).toBe("unknown-session");
    expect((await stranger.error("tasks.grade", { answer: "" })).data.type).toBe("no-task");
    const again = await enter(ORCHESTRATOR);
    expect(await again.result("tasks.grade", { answer: "" })).toEqual({ score: 7.5 });
  });

  test("ids of parked sessions are told to their holder only", async () => {
    const { server, enter } = await guarded();
    const ids: string[] = [];
    for (const k of [1, 2]) {
      const client = await enter(ORCHESTRATOR);
      ids.push(await client.hello());
      await client.result("tasks.start", work(k));
      client.destroy();
    }
    await until(() => server.stats().sessions.parked === 2, "two parked sessions");
    expect((await (await enter(OTHER)).error("tasks.grade", {})).data).toEqual({ type: "no-task" });
    expect((await (await enter(ORCHESTRATOR)).error("tasks.grade", {})).data.session_ids).toEqual(
      ids.toSorted(),
    );
  });
});

describe("SESS-10: where tokens come from", () => {
  test("a file, with or without a line end", async () => {
    const file = join(folder, "token");
    for (const text of [ORCHESTRATOR, `${ORCHESTRATOR}\n`, `${ORCHESTRATOR}\r\n`]) {
      await writeFile(file, text);
      const { enter } = await guarded({ orchestrator: { file } });
      await enter(ORCHESTRATOR);
    }
  });

  test("a variable, which no child of the process inherits", async () => {
    vi.stubEnv("TEST_CONTROL_TOKEN", ORCHESTRATOR);
    onTestFinished(() => void vi.unstubAllEnvs());
    const { enter } = await guarded({ orchestrator: { env: "TEST_CONTROL_TOKEN" } });
    expect(process.env["TEST_CONTROL_TOKEN"]).toBeUndefined();
    await enter(ORCHESTRATOR);
  });

  test.each<[string, () => AccessTokens | Promise<AccessTokens>]>([
    ["none at all", () => ({})],
    ["an empty list", () => ({ orchestrator: [] })],
    ["an empty token", () => ({ orchestrator: "" })],
    ["blanks", () => ({ agent: " \n" })],
    ["a variable that is not set", () => ({ orchestrator: { env: "NO_SUCH_VARIABLE" } })],
    ["a file that is not there", () => ({ orchestrator: { file: join(folder, "missing") } })],
    [
      "an empty file",
      async () => {
        const file = join(folder, "empty");
        await writeFile(file, "\n");
        await chmod(file, 0o600);
        return { orchestrator: { file } };
      },
    ],
    ["one token for two roles", () => ({ orchestrator: ORCHESTRATOR, agent: ORCHESTRATOR })],
  ])("%s: the server does not start", async (_name, tokens) => {
    const { env } = trackedEnvironment();
    await expect(serve(env, { tokens: await tokens() })).rejects.toThrow(TypeError);
  });
});

describe("SESS-10: guessing is slow", () => {
  test("after several wrong tokens the next ones wait, one after the other, and too many are sent away", async () => {
    const { connect, server } = await guarded();
    const guess = async (): Promise<Frame> =>
      (await first(await connect(), "hello", { token: "guess" })).frame["error"] as Frame;
    for (let i = 0; i < 5; i++) expect((await guess())["code"]).toBe(-32001);
    const answers: string[] = [];
    const guesses = Array.from({ length: 30 }, async () => {
      const error = await guess().catch(() => undefined);
      if (error) answers.push(error["data"].type as string);
    });
    await until(() => answers.length >= 14, "those who are too many being sent away");
    expect(answers.filter((type) => type === "throttled").length).toBeGreaterThanOrEqual(14);
    expect(answers.filter((type) => type === "unauthorized").length).toBeLessThan(5);
    await server.close(); // the rest need not be waited for
    await Promise.all(guesses);
  });
});

test("without tokens nothing changes: a token that is sent all the same is ignored", async () => {
  const { env } = trackedEnvironment();
  const server = await serve(env);
  onTestFinished(() => server.close());
  const client = await LineClient.connect(server.port);
  await client.result("hello", { token: "whatever" });
  expect(await client.result("tasks.start", work(1))).toEqual({ prompt: "go:1" });
});
