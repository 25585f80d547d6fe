// A program whose shutdown never ends. argv: the file that it tells what happens in.
import { appendFileSync } from "node:fs";
import { Environment } from "../environment.ts";
import { serve } from "../serve.ts";

const env = new Environment();
env.shutdown(async () => {
  appendFileSync(process.argv[2]!, "stopping\n");
  await new Promise(() => {});
});
await serve(env, { signals: true, announce: true, shutdownGrace: 1_500 });
