/**
 * The same commands as in session_model_test.ts, but several connections send them without waiting for anything: what
 * they are answered depends on who comes first, what is left behind does not.
 */
import fc from "fast-check";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, test } from "vitest";
import { LineClient, RecordingLogger, trackedEnvironment, until, work } from "./_testing.ts";
import { serve } from "./serve.ts";

type Act =
  | "start"
  | "slow start"
  | "slow end"
  | "grade"
  | "cancel"
  | "ping"
  | "bye"
  | "resume"
  | "takeover"
  | "replay"
  | "fin"
  | "rst"
  | "reconnect"
  | "open"
  | "pause";

const act = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom<Act>("start", "slow start", "slow end", "grade", "open", "pause") },
  {
    weight: 2,
    arbitrary: fc.constantFrom<Act>("cancel", "resume", "takeover", "replay", "fin", "rst", "reconnect"),
  },
  { weight: 1, arbitrary: fc.constantFrom<Act>("ping", "bye") },
);
const step = fc.tuple(fc.nat(3), act, fc.nat(50));

async function play(steps: [who: number, what: Act, which: number][]): Promise<void> {
  const { env, events, gates } = trackedEnvironment();
  const log = new RecordingLogger();
  const server = await serve(env, { logger: log, cancelGrace: 2_000 });
  const clients = await Promise.all([0, 1, 2, 3].map(() => LineClient.connect(server.port)));
  const everybody = [...clients];
  const sent = new Map<LineClient, number>();
  const ids = await Promise.all(clients.map((client) => client.hello()));
  let tasks = 0;
  const send = (client: LineClient, method: string, params: object = {}): void => {
    if (client.socket.writable) sent.set(client, client.request(method, params));
  };
  for (const [who, what, which] of steps) {
    const client = clients[who]!;
    const hold = ({ "slow start": "start", "slow end": "end" } as const)[what as "slow start"];
    if (what.endsWith("start") || hold) send(client, "tasks.start", work(++tasks, hold));
    else if (what === "resume" || what === "takeover") {
      send(client, "hello", { session_id: ids[which % ids.length], takeover: what === "takeover" });
    } else if (what === "replay") send(client, "hello", { replay: true });
    else if (what === "fin") client.destroy();
    else if (what === "rst") client.reset();
    else if (what === "open") for (const { open } of gates.values()) open();
    else if (what === "pause") await sleep(which % 5);
    else if (what === "reconnect") {
      clients[who] = await LineClient.connect(server.port);
      everybody.push(clients[who]);
      send(clients[who], "hello");
    } else send(client, what === "ping" || what === "bye" ? what : `tasks.${what}`);
  }
  const opening = setInterval(() => {
    for (const { open } of gates.values()) open();
  }, 5);
  try {
    // Whoever is still connected gets a reply to the last thing that was said.
    await Promise.all(
      [...sent].map(async ([client, id]) => {
        if (!client.socket.destroyed && clients.includes(client))
          await client.take((frame) => frame["id"] === id);
      }),
    );
    for (const client of everybody) client.destroy();
    if (steps.length % 2) await until(() => server.stats().connections === 0);
    await server.close();
  } finally {
    clearInterval(opening);
  }
  const numbers = (word: string): string[] => events.filter((event) => event.startsWith(`${word} `)).sort();
  const begun = numbers("start").map((event) => event.slice(6));
  expect(numbers("end").map((event) => event.slice(4))).toEqual(begun);
  expect(new Set(begun).size).toBe(begun.length);
  expect(new Set(numbers("grade")).size).toBe(numbers("grade").length);
  expect(numbers("hook").length).toBe(begun.length);
  expect(server.stats()).toMatchObject({ connections: 0, sessions: { live: 0, parked: 0 } });
  expect(log.entries.filter(({ level }) => level === "error")).toEqual([]);
}

const seed = Number(process.env["MODEL_SEED"] ?? Date.now() % 2 ** 31);

test(
  `whatever happens at the same time (seed ${String(seed)}), each task is graded at most once and cleaned up exactly once`,
  { timeout: 120_000 },
  async () => {
    const steps = fc.array(step, { minLength: 5, maxLength: 40, size: "max" });
    const search = (which: number, numRuns: number): Promise<void> =>
      fc.assert(fc.asyncProperty(steps, play), { seed: which, numRuns, endOnFailure: true });
    await Promise.all([search(1, 50), search(2, 50), search(seed, 50)]);
  },
);
