// A program that serves an environment until a signal. argv: the file that it tells what happens in, one line each.
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@envport/wire";
import { Environment } from "../environment.ts";
import type { Schema } from "../schema.ts";
import { serve } from "../serve.ts";

const [, , file] = process.argv;
const note = (line: string): void => appendFileSync(file!, `${line}\n`);

const env = new Environment({ name: "serving" });
let daemon: ChildProcess | undefined;
env.use({
  name: "daemon",
  async start({ signal } = {}) {
    daemon = spawn("sleep", ["1000"], { stdio: "ignore" });
    note(`child ${String(daemon.pid)}`);
    await sleep(150, undefined, { signal });
    return [];
  },
  async stop() {
    if (!daemon || daemon.exitCode !== null || daemon.signalCode !== null) return;
    const exited = once(daemon, "exit");
    daemon.kill("SIGTERM");
    await exited;
    note("child stopped");
  },
});
env.initialize(async () => {
  await sleep(100);
  note("initialized");
});
env.shutdown(() => note("shutdown"));

/** Takes any object as it is. */
const any: Schema<JsonObject> = {
  "~standard": {
    version: 1,
    vendor: "test",
    validate: (value) => ({ value: value as JsonObject }),
    jsonSchema: { input: () => ({ type: "object" }), output: () => ({ type: "object" }) },
  },
};
env.template("work", { args: any }).run(async function* (_, ctx) {
  note("begin");
  try {
    note("starting");
    await sleep(150, undefined, { signal: ctx.signal });
    yield "p";
    note("grading");
    await sleep(150, undefined, { signal: ctx.signal });
    yield 1;
  } finally {
    await sleep(20);
    note("finally");
  }
});
env.template("stubborn").run(async function* () {
  await new Promise(() => {});
  yield "never";
});

const serving = serve(env, { signals: true, announce: true, cancelGrace: 300 });
note("serving");
await serving;
