// Calls a tool through a served environment: prints the result and the host that the server was asked for, or the error.
import { connect } from "@envport/client";
import { mcp } from "@envport/mcp";

const client = await connect(process.argv[2]!);
try {
  const tools = await client.open(mcp);
  const [sum] = (await tools.callTool("add", { a: 2, b: 3 })).content as unknown as [{ text: string }];
  const [headers] = (await tools.callTool("headers")).content as unknown as [{ text: string }];
  const { host } = JSON.parse(headers.text) as { host?: string };
  console.log(sum.text, host?.replace(/:\d+$/, ""));
} catch (error) {
  const { code, message } = error as Error & { code: string };
  console.log(code, message);
}
await client.close();
