// A program that serves, is used, closes its server, and then has nothing to do. argv: the file that it tells what happens in.
import { once } from "node:events";
import { appendFileSync } from "node:fs";
import net from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { Environment } from "../environment.ts";
import { serve } from "../serve.ts";

const env = new Environment();
env.template("t", { timeouts: { startMs: 100_000, gradeMs: 100_000 } }).run(async function* () {
  yield "p";
  yield 1;
});
const server = await serve(env, { signals: true });
const [parked, open] = [net.connect(server.port), net.connect(server.port)];
for (const socket of [parked, open]) {
  socket.on("error", () => {});
  socket.write('{"id":1,"method":"tasks.start","params":{"id":"t"}}\n');
  await once(socket, "data");
}
parked.destroy();
await sleep(50);
await server.close();
open.destroy();
appendFileSync(process.argv[2]!, "closed\n");
