import { once } from "node:events";
import { Environment, evaluation } from "@envport/server";
import { z } from "zod";

/** What the peer's client is tried on. */
export interface Exam {
  readonly env: Environment;
  /** What ended, and how: a line a task. */
  readonly log: string[];
}

/** An environment whose tasks need nothing but the control channel. */
export function createExam(): Exam {
  const env = new Environment({ name: "exam", version: "1.2.3" });
  const log: string[] = [];
  const args = z.object({ a: z.int(), b: z.int().default(1) });
  env.template("add", { description: "Add two numbers", args, returns: z.int() }).run(async function* ({
    a,
    b,
  }) {
    try {
      const answer = yield `What is ${String(a)} ${String(b)}?`;
      yield answer.content === a + b ? 1 : 0;
    } finally {
      log.push("add ended");
    }
  });
  env.template("essay", { description: "Write three words" }).run(async function* () {
    const answer = String(yield "Write three words.");
    const words = answer.split(" ").length;
    yield evaluation({
      reward: 0.75,
      content: answer,
      info: { words },
      subscores: [
        { name: "length", value: words === 3 ? 1 : 0, weight: 0.5 },
        { name: "style", value: 0.5, weight: 0.5, children: [{ name: "rhythm", value: 0.5 }] },
      ],
    });
  });
  env.template("fails").run(async function* () {
    if (log.length >= 0) throw new Error("the dog ate it");
    yield yield "";
  });
  env.template("endless").run(async function* (_args, { signal }) {
    try {
      await once(signal, "abort");
      yield yield "too late";
    } finally {
      log.push("endless ended");
    }
  });
  env.template("mirror", { args: z.object({ size: z.int() }) }).run(async function* ({ size }) {
    const answer = String(yield "x".repeat(size));
    yield answer.length;
  });
  return { env, log };
}
