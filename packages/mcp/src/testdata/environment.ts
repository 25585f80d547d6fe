// A served environment with a tool server over either transport, in a process of its own: prints its address and what it
// publishes, and runs until it is killed.
import { mcpServer } from "@envport/mcp";
import { Environment, serve } from "@envport/server";
import { everything } from "../_testing_everything.ts";

const env = new Environment({ name: "tools" });
const services = (["streamable-http", "websocket"] as const).map((transport) =>
  env.use(mcpServer(() => everything(), { name: transport, transport, authToken: process.argv[2] })),
);
const server = await serve(env);
console.log(JSON.stringify({ url: server.url, capabilities: services.map(({ capability }) => capability) }));
