/** Serves the exam as a program; what its tasks leave behind goes into the file named by `EXAM_LOG`. */
import { writeFileSync } from "node:fs";
import { serve } from "@envport/server";
import { createExam } from "./_exam.ts";

const { env, log } = createExam();
if (process.env["EXAM_FAILS"]) env.use({ name: "broken", start: fail, stop: () => Promise.resolve() });
env.shutdown(() => {
  writeFileSync(process.env["EXAM_LOG"]!, [...log, "shut down"].join("\n"));
});
await serve(env, { announce: true, signals: true });

function fail(): Promise<never> {
  return Promise.reject(new Error("the daemon has no licence"));
}
