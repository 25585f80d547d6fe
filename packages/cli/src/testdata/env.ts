import { Environment } from "@envport/server";
import { z } from "zod";
import { greeting } from "./greeting.ts";

console.log("the module prints");
await Promise.resolve();

const env = new Environment({ name: "fixture", version: "1.2.3" });
const args = z.object({
  who: z.string().default("world").describe("Whom to greet"),
  mood: z.enum(["glad", "sad"]).default("glad"),
});
env.template("greet", { description: "Greet somebody", args }).run(async function* (
  { who, mood },
  { progress },
) {
  progress("thinking", 0.5);
  const answer = yield `Say ${greeting} to ${who}${mood === "sad" ? ", sadly" : ""}`;
  console.log("the task prints");
  yield { score: answer === `${greeting} ${who}` ? 1 : 0, note: "graded" };
});
env.template("needs", { args: z.object({ count: z.number() }) }).run(async function* ({ count }) {
  yield `Count to ${count}`;
  yield 0.5;
});
env.template("fails").run(async function* () {
  yield "Go on";
  throw new Error("the disk is full");
});
env.template("waits").run(async function* (_args, { signal }) {
  try {
    yield "Wait";
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    yield 0;
  } finally {
    console.error("cleaned up");
  }
});

export default env;
