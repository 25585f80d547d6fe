// Our client as the conformance suite drives it: the server's address is the last argument, the scenario a variable. The
// server stands behind a served environment, so that every byte goes through a forwarder and a tunnel.
import { connect } from "@envport/client";
import { McpClient, mcpCapability } from "@envport/mcp";
import { Environment, serve } from "@envport/server";

const scenario = process.env["MCP_CONFORMANCE_SCENARIO"];
const env = new Environment({ name: "conformance" });
env.addCapability(mcpCapability({ url: process.argv.at(-1)! }));
const server = await serve(env);
const client = await connect(server.url);
const tools = await McpClient.connect(client.binding("mcp"), {
  capabilities: { elicitation: { form: { applyDefaults: true } } },
  setup: (raw) => raw.setRequestHandler("elicitation/create", () => ({ action: "accept", content: {} })),
});
const offered = await tools.listTools();
for (const { name } of offered) {
  const { isError } = await tools.callTool(name, argumentsOf(name));
  console.log(name, isError ? "failed" : "ok");
}
await tools.close();
await client.close();
await server.close();

function argumentsOf(name: string): Record<string, unknown> {
  if (name === "add_numbers") return { a: 5, b: 3 };
  if (!scenario?.startsWith("json-schema")) return {};
  return { schema: offered.find((tool) => tool.name === "json_schema_2020_12_tool")?.inputSchema };
}
