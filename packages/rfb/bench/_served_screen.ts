/** Serves a screen in a process of its own, says where, and starts on it what it reads: a JSON array a line. */
import { createInterface } from "node:readline";
import { Environment, serve } from "@envport/server";
import { Screen } from "../src/screen.ts";

const desktop = new Screen({ width: 1280, height: 1024 });
const env = new Environment({ name: "bench" });
env.use(desktop);
const server = await serve(env, { port: 0 });
console.log(JSON.stringify({ url: server.url, capability: desktop.capability }));
for await (const line of createInterface(process.stdin)) await desktop.spawn(JSON.parse(line));
await server.close();
