// A program one of whose services cannot start. argv: the file that it tells what happens in.
import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import { Environment } from "../environment.ts";
import { serve } from "../serve.ts";

const note = (line: string): void => appendFileSync(process.argv[2]!, `${line}\n`);
const env = new Environment();
let child: ChildProcess;
const daemon = env.use({
  name: "daemon",
  async start() {
    child = spawn("sleep", ["1000"], { stdio: "ignore" });
    note(`child ${String(child.pid)}`);
    return [];
  },
  async stop() {
    child.kill();
    await once(child, "exit");
    note("child stopped");
  },
});
env.use(
  {
    name: "screen",
    start: () => Promise.reject(new Error("no such program")),
    stop: () => Promise.resolve(),
  },
  { after: [daemon] },
);
try {
  await serve(env, { signals: true, announce: true });
} catch (error) {
  note((error as Error).message);
  process.exitCode = 1;
}
