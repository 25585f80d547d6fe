import { Mismatch } from "../_mismatch.ts";
import type { Scenario } from "../_scenario.ts";
import { HELLO } from "./served_talk.ts";
import type { ClientStage } from "./stage.ts";

/** The limit of a frame in the contract, in bytes. */
const MAX_FRAME_BYTES = 16 * 1024 * 1024;
/** Characters that some programs take for the end of a line. */
const NO_LINE_ENDS = "a\u2028b\u2029c\u0085d";

/** Scenarios of the rules about frames, as far as they bind a client. */
export const CLIENT_FRAME_SCENARIOS: readonly Scenario<ClientStage>[] = [
  {
    rule: "CONN-1",
    name: "a stream is a connection of its own, whose first frame is tunnel.open with the binding's name",
    run: async (stage) => {
      const talk = await stage.connected();
      await stage.local(await stage.route("echo"));
      const { talk: tunnel, reply } = await stage.tunnel("echo");
      tunnel.raw.write(reply);
      await stage.answered(talk, ["list"], "tasks.list", { tasks: [] });
    },
  },
  {
    rule: "FRAME-1",
    name: "line ends of other alphabets cross in both directions, and a carriage return is white space",
    run: async (stage) => {
      const talk = await stage.connected();
      const starting = stage.begin("start", { id: "echo", args: { text: NO_LINE_ENDS } });
      const { id, params } = await talk.request("tasks.start");
      const { text } = params["args"] as { text?: unknown };
      if (text !== NO_LINE_ENDS) throw talk.raw.mismatch("the text as it was given", JSON.stringify(params));
      const reply = JSON.stringify({ jsonrpc: "2.0", id, result: { prompt: NO_LINE_ENDS } });
      talk.raw.write(`${reply}\r\n`);
      await stage.has(starting, { prompt: NO_LINE_ENDS });
    },
  },
  {
    rule: "FRAME-2",
    name: "a reply arrives byte by byte, or long and in pieces",
    run: async (stage) => {
      const talk = await stage.connected();
      for (const [prompt, size] of [
        ["é".repeat(100), 1],
        ["é".repeat(100_000), 4_097],
      ] as const) {
        const starting = stage.begin("start", { id: "echo" });
        const { id } = await talk.request("tasks.start");
        await talk.raw.writeSlowly(`${JSON.stringify({ jsonrpc: "2.0", id, result: { prompt } })}\n`, size);
        await stage.has(starting, { prompt });
      }
    },
  },
  {
    rule: "FRAME-3",
    name: "what comes with the reply to tunnel.open belongs to the stream, as does what was said before it",
    run: async (stage) => {
      await stage.connected();
      const local = await stage.local(await stage.route("echo"));
      const early = '{"jsonrpc":"2.0","id":1,"method":"hello"}\nearly\n';
      local.write(early);
      const { talk, reply } = await stage.tunnel("echo");
      talk.raw.write(`${reply}fixture ready\n{"jsonrpc":"2.0"}\n`);
      const banner = await local.bytes(32, "the banner that came with the reply");
      if (banner.toString() !== 'fixture ready\n{"jsonrpc":"2.0"}\n')
        throw local.mismatch("the banner", banner.toString());
      const said = await talk.raw.bytes(early.length, "what the local side had said before the reply");
      if (said.toString() !== early) throw talk.raw.mismatch(early, said.toString());
    },
  },
  {
    rule: "FRAME-4",
    name: "a reply over the limit fails the pending call and ends the connection",
    run: async (stage) => {
      const talk = await stage.connected();
      const starting = stage.begin("start", { id: "echo" });
      const { id } = await talk.request("tasks.start");
      talk.raw.write(
        `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"prompt":"${"x".repeat(MAX_FRAME_BYTES)}"}}\n`,
      );
      talk.raw.lastSent = "a reply of more than 16 MiB";
      await stage.fails(starting);
      await talk.raw.rest("the client to end the connection");
    },
  },
  {
    rule: "FRAME-5",
    name: "a request over the limit is a local error that names it; nothing is sent, and the connection stays usable",
    run: async (stage) => {
      const talk = await stage.connected();
      await stage.fails(stage.begin("start", { id: "echo", bytes: MAX_FRAME_BYTES }), [
        String(MAX_FRAME_BYTES),
      ]);
      await stage.answered(talk, ["list"], "tasks.list", { tasks: [] });
    },
  },
  {
    rule: "FRAME-9",
    name: "jsonrpc is 2.0 on what is sent, and may be missing on what comes",
    run: async (stage) => {
      const connecting = stage.begin("connect");
      const talk = await stage.session();
      const line = await talk.line("hello");
      const { id, jsonrpc } = JSON.parse(line) as { id: number; jsonrpc?: unknown };
      if (jsonrpc !== "2.0") throw talk.raw.mismatch('jsonrpc "2.0"', line);
      talk.raw.write(`${JSON.stringify({ id, result: HELLO })}\n`);
      await stage.ok(connecting);
    },
  },
  {
    rule: "FRAME-11",
    name: "requests are compact, and begin with jsonrpc and id",
    run: async (stage) => {
      const connecting = stage.begin("connect");
      const talk = await stage.session();
      const line = await talk.line("hello");
      const spaces = /\s/.test(line.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""'));
      if (!/^\{"jsonrpc":"2\.0","id":[^,]+,"method":"hello"/.test(line) || spaces) {
        throw talk.raw.mismatch('{"jsonrpc":"2.0","id":…,"method":"hello"… without spaces', line);
      }
      talk.send({ jsonrpc: "2.0", id: (JSON.parse(line) as { id: unknown }).id, result: HELLO });
      await stage.ok(connecting);
    },
  },
  {
    rule: "FRAME-9",
    name: "members that a client does not know are no matter",
    run: async (stage) => {
      const talk = await stage.connected({ ...HELLO, more: { deep: [1] } });
      const starting = stage.begin("start", { id: "echo" });
      talk.answer(await talk.request("tasks.start"), { prompt: "p", bindings: [], "x-more": null });
      const { prompt } = await stage.ok(starting);
      if (prompt !== "p")
        throw new Mismatch({ sent: starting.what, expected: "the prompt 'p'", got: JSON.stringify(prompt) });
    },
  },
];
