/* eslint-disable @typescript-eslint/no-deprecated -- what the protocol of 2025 has, later ones do without */
/** A server with everything that the protocol's conformance suite asks for, and the tools of our own tests. */
import type { CallToolResult, ServerContext } from "@modelcontextprotocol/server";
import { McpServer, ResourceTemplate, completable, fromJsonSchema } from "@modelcontextprotocol/server";
import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";

export const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const WAV = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=";

/** What the tools were seen to do. */
export interface ToolStats {
  started: number;
  cancelled: number;
}

export function text(content: string): CallToolResult {
  return { content: [{ type: "text", text: content }] };
}

/** Makes the server of one session. */
export function everything(stats: ToolStats = { started: 0, cancelled: 0 }): McpServer {
  const changes = { listChanged: true };
  const server = new McpServer(
    { name: "everything", version: "1.0.0" },
    {
      instructions: "Try everything.",
      capabilities: {
        logging: {},
        completions: {},
        tools: changes,
        prompts: changes,
        resources: { ...changes, subscribe: true },
      },
    },
  );
  addConformanceTools(server);
  addOwnTools(server, stats);
  addResources(server);
  addPrompts(server);
  return server;
}

function addConformanceTools(server: McpServer): void {
  addContentTools(server);
  addTalkingTools(server);
  server.registerTool(
    "json_schema_2020_12_tool",
    { description: "A schema in full", inputSchema: fromJsonSchema(SCHEMA_2020_12) },
    () => text("ok"),
  );
}

const EMBEDDED = {
  type: "resource" as const,
  resource: {
    uri: "test://embedded-resource",
    mimeType: "text/plain",
    text: "This is an embedded resource content.",
  },
};

function addContentTools(server: McpServer): void {
  const add = (name: string, result: () => CallToolResult): void => {
    server.registerTool(name, { description: `Returns ${name}`, inputSchema: z.object({}) }, result);
  };
  add("test_simple_text", () => text("This is a simple text response for testing."));
  add("test_image_content", () => ({ content: [{ type: "image", data: PNG, mimeType: "image/png" }] }));
  add("test_audio_content", () => ({ content: [{ type: "audio", data: WAV, mimeType: "audio/wav" }] }));
  add("test_embedded_resource", () => ({ content: [EMBEDDED] }));
  add("test_multiple_content_types", () => ({
    content: [
      { type: "text", text: "Multiple content types test:" },
      { type: "image", data: PNG, mimeType: "image/png" },
      {
        type: "resource",
        resource: {
          uri: "test://mixed-content-resource",
          mimeType: "application/json",
          text: '{"test":"data","value":123}',
        },
      },
    ],
  }));
  add("test_error_handling", () => {
    throw new Error("This tool intentionally returns an error for testing");
  });
}

/** Tools that say something while they run, or ask the client. */
function addTalkingTools(server: McpServer): void {
  const add = (name: string, run: (context: ServerContext) => Promise<CallToolResult>): void => {
    server.registerTool(name, { description: `Does ${name}`, inputSchema: z.object({}) }, (_, context) =>
      run(context),
    );
  };
  add("test_tool_with_logging", async ({ mcpReq }) => {
    for (const line of ["Tool execution started", "Tool processing data", "Tool execution completed"]) {
      await mcpReq.log("info", line);
      await sleep(50);
    }
    return text("done");
  });
  add("test_tool_with_progress", async (context) => {
    for (const progress of [0, 50, 100]) {
      await report(context, { progress, total: 100 });
      await sleep(50);
    }
    return text("done");
  });
  add("test_reconnection", async ({ http }) => {
    http?.closeSSE?.();
    await sleep(100);
    return text("Reconnection test completed successfully");
  });
  add("test_elicitation_sep1034_defaults", (context) => elicit(context, "defaults", DEFAULTS, []));
  add("test_elicitation_sep1330_enums", (context) => elicit(context, "enums", ENUMS));
  server.registerTool(
    "test_elicitation",
    { description: "Asks the user", inputSchema: z.object({ message: z.string() }) },
    ({ message }, context) => elicit(context, message, USER, ["username", "email"]),
  );
  server.registerTool(
    "test_sampling",
    { description: "Asks the model", inputSchema: z.object({ prompt: z.string() }) },
    async ({ prompt }, { mcpReq }) => {
      const messages = [{ role: "user" as const, content: { type: "text" as const, text: prompt } }];
      const { content } = await mcpReq.requestSampling({ messages, maxTokens: 100 });
      return text(`LLM response: ${"text" in content ? content.text : ""}`);
    },
  );
}

/** Reports progress to a client that asked for it. */
async function report({ mcpReq }: ServerContext, facts: { progress: number; total?: number }): Promise<void> {
  const progressToken = mcpReq._meta?.progressToken;
  if (progressToken === undefined) return;
  await mcpReq.notify({ method: "notifications/progress", params: { progressToken, ...facts } });
}

async function elicit(
  { mcpReq }: ServerContext,
  message: string,
  properties: object,
  required?: string[],
): Promise<CallToolResult> {
  const requestedSchema = { type: "object" as const, properties, ...(required ? { required } : {}) };
  const { action, content } = await mcpReq.elicitInput({ message, requestedSchema } as never);
  return text(`User response: action=${action}, content=${JSON.stringify(content)}`);
}

const USER = {
  username: { type: "string", description: "User's response" },
  email: { type: "string", description: "User's email address" },
};

const DEFAULTS = {
  name: { type: "string", default: "John Doe" },
  age: { type: "integer", default: 30 },
  score: { type: "number", default: 95.5 },
  status: { type: "string", enum: ["active", "inactive", "pending"], default: "active" },
  verified: { type: "boolean", default: true },
};

const TITLED = [
  { const: "value1", title: "First Option" },
  { const: "value2", title: "Second Option" },
  { const: "value3", title: "Third Option" },
];

const ENUMS = {
  untitledSingle: { type: "string", enum: ["option1", "option2", "option3"] },
  titledSingle: { type: "string", oneOf: TITLED },
  legacyEnum: {
    type: "string",
    enum: ["opt1", "opt2", "opt3"],
    enumNames: ["Option One", "Option Two", "Option Three"],
  },
  untitledMulti: { type: "array", items: { type: "string", enum: ["option1", "option2", "option3"] } },
  titledMulti: { type: "array", items: { anyOf: TITLED } },
};

const SCHEMA_2020_12 = {
  $schema: "https://json-schema.org/draft/2020-12/schema",
  type: "object" as const,
  $defs: {
    address: {
      $anchor: "addressDef",
      type: "object",
      properties: { street: { type: "string" }, city: { type: "string" } },
    },
  },
  properties: {
    name: { type: "string" },
    address: { $ref: "#/$defs/address" },
    contactMethod: { type: "string", enum: ["phone", "email"] },
    phone: { type: "string" },
    email: { type: "string" },
  },
  allOf: [{ anyOf: [{ required: ["phone"] }, { required: ["email"] }] }],
  if: { properties: { contactMethod: { const: "phone" } }, required: ["contactMethod"] },
  then: { required: ["phone"] },
  else: { required: ["email"] },
  additionalProperties: false,
};

function addOwnTools(server: McpServer, stats: ToolStats): void {
  const numbers = z.object({ a: z.number(), b: z.number() });
  server.registerTool(
    "add",
    { description: "Adds", inputSchema: numbers, outputSchema: z.object({ sum: z.number() }) },
    ({ a, b }) => ({ ...text(String(a + b)), structuredContent: { sum: a + b } }),
  );
  server.registerTool(
    "echo",
    { description: "Repeats a text, or tells its length", inputSchema: z.object({ s: z.string() }) },
    ({ s }) => text(s.length > 100 ? String(s.length) : s),
  );
  server.registerTool(
    "big",
    {
      description: "Returns much",
      inputSchema: z.object({ mb: z.number(), kind: z.enum(["text", "image"]) }),
    },
    ({ mb, kind }) => {
      const data = "A".repeat(mb * 1024 * 1024);
      return kind === "text" ? text(data) : { content: [{ type: "image", data, mimeType: "image/png" }] };
    },
  );
  server.registerTool(
    "slow",
    { description: "Takes its time", inputSchema: z.object({ ticks: z.number(), every: z.number() }) },
    async ({ ticks, every }, context) => {
      stats.started++;
      try {
        for (let progress = 1; progress <= ticks; progress++) {
          await sleep(every, undefined, { signal: context.mcpReq.signal });
          await report(context, { progress, total: ticks });
        }
      } catch (error) {
        stats.cancelled++;
        throw error;
      }
      return text(`ticks ${String(ticks)}`);
    },
  );
  server.registerTool("die", { description: "Ends the process", inputSchema: z.object({}) }, () =>
    process.exit(9),
  );
  server.registerTool(
    "headers",
    { description: "Tells the request's Host", inputSchema: z.object({}) },
    (_, { http }) => text(JSON.stringify({ host: http?.req?.headers.get("host") })),
  );
  server.registerTool("tell", { description: "Says that tools changed", inputSchema: z.object({}) }, () => {
    server.sendToolListChanged();
    return text("told");
  });
  server.registerTool("grow", { description: "Adds a tool", inputSchema: z.object({}) }, () => {
    server.registerTool("grown", { description: "Came later", inputSchema: z.object({}) }, () =>
      text("grown"),
    );
    return text("ok");
  });
}

function addResources(server: McpServer): void {
  const mimeType = "text/plain";
  server.registerResource("static-text", "test://static-text", { mimeType }, (uri) => ({
    contents: [{ uri: uri.href, mimeType, text: "This is the content of the static text resource." }],
  }));
  server.registerResource("static-binary", "test://static-binary", { mimeType: "image/png" }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: "image/png", blob: PNG }],
  }));
  server.registerResource("watched", "test://watched-resource", { mimeType }, (uri) => ({
    contents: [{ uri: uri.href, mimeType, text: "watched" }],
  }));
  server.registerResource(
    "template",
    new ResourceTemplate("test://template/{id}/data", { list: undefined }),
    { mimeType: "application/json" },
    (uri, { id }) => ({
      contents: [
        {
          uri: uri.href,
          mimeType: "application/json",
          text: JSON.stringify({ id, templateTest: true, data: `Data for ID: ${String(id)}` }),
        },
      ],
    }),
  );
  server.server.setRequestHandler("resources/subscribe", () => ({}));
  server.server.setRequestHandler("resources/unsubscribe", () => ({}));
}

function addPrompts(server: McpServer): void {
  const user = <T>(content: T): { role: "user"; content: T } => ({ role: "user", content });
  const words = (line: string): { type: "text"; text: string } => ({ type: "text", text: line });
  server.registerPrompt("test_simple_prompt", { description: "Simple" }, () => ({
    messages: [user(words("This is a simple prompt for testing."))],
  }));
  const argsSchema = z.object({
    arg1: completable(z.string(), () => ["paris", "park", "party"]),
    arg2: z.string(),
  });
  server.registerPrompt(
    "test_prompt_with_arguments",
    { description: "Filled in", argsSchema },
    ({ arg1, arg2 }) => ({
      messages: [user(words(`Prompt with arguments: arg1='${arg1}', arg2='${arg2}'`))],
    }),
  );
  server.registerPrompt(
    "test_prompt_with_embedded_resource",
    { description: "With a resource", argsSchema: z.object({ resourceUri: z.string() }) },
    ({ resourceUri }) => ({
      messages: [
        user({
          type: "resource",
          resource: {
            uri: resourceUri,
            mimeType: "text/plain",
            text: "Embedded resource content for testing.",
          },
        }),
        user(words("Please process the embedded resource above.")),
      ],
    }),
  );
  server.registerPrompt("test_prompt_with_image", { description: "With an image" }, () => ({
    messages: [
      user({ type: "image", data: PNG, mimeType: "image/png" }),
      user(words("Please analyze the image above.")),
    ],
  }));
}
