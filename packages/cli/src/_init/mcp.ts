import type { Template } from "./template.ts";

/** Tools of an MCP server. */
export const mcp: Template = {
  name: "mcp",
  summary: "tools of your own, as an MCP server",
  needs: [],
  packages: ["mcp"],
  libraries: { "@modelcontextprotocol/server": "2.4.0", zod: "^4.6.7" },
  environment: {
    imports: [
      `import { mcpServer } from "@envport/mcp";`,
      `import { McpServer } from "@modelcontextprotocol/server";`,
      `import { z } from "zod";`,
    ],
    code: `// The agent sees and changes this stock by calling tools.
let stock = new Map<string, number>();

/** The tools, for one client. */
function createTools(): McpServer {
  const tools = new McpServer({ name: "shop", version: "0.1.0" });
  tools.registerTool("list_stock", { description: "What is left of each item" }, () => ({
    content: [{ type: "text", text: JSON.stringify(Object.fromEntries(stock)) }],
  }));
  const inputSchema = z.object({ item: z.string(), count: z.int().positive() });
  tools.registerTool("order", { description: "Adds to the stock", inputSchema }, ({ item, count }) => {
    stock.set(item, (stock.get(item) ?? 0) + count);
    return { content: [{ type: "text", text: "ordered" }] };
  });
  return tools;
}
env.use(mcpServer(createTools));

env.template("restock", { description: "Order what is sold out" }).run(async function* () {
  stock = new Map(Object.entries({ tea: 3, coffee: 0, sugar: 7 }));
  yield "One item of the shop is sold out. Order 10 of it, and nothing else."; // the prompt
  yield [...stock.values()].join() === "3,10,7" ? 1 : 0; // the score
});`,
  },
  agent: {
    task: "restock",
    imports: [`import { mcp } from "@envport/mcp";`],
    code: `      const tools = await client.open(mcp);
      const { content } = await tools.callTool("list_stock");
      const stock = content[0]?.type === "text" ? JSON.parse(content[0].text) : {};
      const item = Object.keys(stock).find((name) => stock[name] === 0);
      await tools.callTool("order", { item, count: 10 });
      return "done";`,
  },
};
