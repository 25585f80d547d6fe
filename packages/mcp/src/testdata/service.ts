// A service in a process of its own: prints its capability, and runs until it is killed.
import { mcpServer } from "@envport/mcp";
import { everything } from "../_testing_everything.ts";

const transport = process.argv[2] === "websocket" ? "websocket" : "streamable-http";
const [capability] = await mcpServer(() => everything(), { transport }).start();
console.log(JSON.stringify(capability));
