import { isDeepStrictEqual } from "node:util";
import type { Scenario } from "../_scenario.ts";
import type { ServerStage } from "./stage.ts";

/** Characters that some programs take for the end of a line. */
const NO_LINE_ENDS = "a\u2028b\u2029c\u0085d";

/** Whether a line of JSON has white space outside its strings. */
function hasSpaces(line: string): boolean {
  return /\s/.test(line.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""'));
}

/** Scenarios of FRAME-1 to FRAME-3 and FRAME-8 to FRAME-11: frames that are in order. */
export const FRAME_SCENARIOS: readonly Scenario<ServerStage>[] = [
  {
    rule: "FRAME-1",
    name: "line ends of other alphabets do not end a frame, and a carriage return is white space",
    needs: ["echo"],
    run: async (stage) => {
      const talk = await stage.session();
      await talk.exactly(
        "tasks.start",
        { id: "echo", args: { text: NO_LINE_ENDS } },
        { prompt: NO_LINE_ENDS },
      );
      talk.raw.write('{"jsonrpc":"2.0","id":"crlf","method":"hello"}\r\n');
      await talk.resultOf("crlf");
      talk.raw.write('\t {"jsonrpc" : "2.0",\r "id":"spaces", "method":"hello" } \n');
      await talk.resultOf("spaces");
    },
  },
  {
    rule: "FRAME-1",
    name: "vertical tab and form feed do not end a frame",
    source: "strict",
    run: async (stage) => {
      const talk = await stage.session();
      talk.raw.write('{"id":1,\v"method":"hello"}\f{"id":2,"method":"hello"}\n{"id":3,"method":"hello"}\n');
      await talk.errorOf(null, { code: -32700 });
      await talk.resultOf(3);
    },
  },
  {
    rule: "FRAME-2",
    name: "a frame arrives byte by byte, and several in one packet",
    needs: ["echo"],
    run: async (stage) => {
      const talk = await stage.connect();
      await talk.raw.writeSlowly('{"jsonrpc":"2.0","id":"ü","method":"hello"}\n');
      await talk.resultOf("ü");
      const ids = Array.from({ length: 20 }, (_, index) => `j${String(index)}`);
      talk.send(...ids.map((id) => ({ jsonrpc: "2.0", id, method: "hello" })));
      for (const id of ids) await talk.resultOf(id);
      const text = "é".repeat(20_000);
      const start = { jsonrpc: "2.0", id: 1, method: "tasks.start", params: { id: "echo", args: { text } } };
      await talk.raw.writeSlowly(`${JSON.stringify(start)}\n`, 4_097);
      const { prompt } = await talk.resultOf(1);
      talk.check(prompt === text, "the prompt as it was sent", prompt);
    },
  },
  {
    rule: "FRAME-3",
    name: "bytes that come with tunnel.open in one packet belong to the stream",
    needs: ["echo"],
    run: async (stage) => {
      const raw = await stage.raw();
      const payload = Buffer.concat([
        Buffer.from('{"jsonrpc":"2.0","id":9,"method":"hello"}\n\n'),
        Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
      ]);
      const open = '{"jsonrpc":"2.0","id":1,"method":"tunnel.open","params":{"capability":"echo"}}\n';
      raw.write(Buffer.concat([Buffer.from(open), payload]));
      const line = await raw.line("the reply to tunnel.open");
      if (!line?.includes('"result"')) throw raw.mismatch("a result", line?.toString() ?? raw.describeEnd());
      const echoed = await raw.bytes(
        payload.length,
        "every byte behind the first line, from the echo binding",
      );
      if (!echoed.equals(payload)) throw raw.mismatch("the same bytes", echoed.toString("latin1"));
    },
  },
  {
    rule: "FRAME-3",
    name: "what a daemon says first follows the reply, byte for byte",
    needs: ["talker"],
    run: async (stage) => {
      for (let times = 0; times < 20; times++) {
        const stream = await stage.tunnel("talker");
        const greeting = await stream.line("the greeting of the talker binding");
        if (greeting?.toString() !== "fixture ready") {
          throw stream.mismatch("the line 'fixture ready'", greeting?.toString() ?? stream.describeEnd());
        }
        stream.destroy();
      }
    },
  },
  {
    rule: "FRAME-8",
    name: "notifications are executed and never answered, errors included",
    needs: ["echo", "ledger"],
    run: async (stage) => {
      const [talk, label] = [await stage.session(), stage.label()];
      await talk.start("echo", { label });
      talk.send(
        { jsonrpc: "2.0", method: "hello" },
        { jsonrpc: "2.0", id: null, method: "no.such.method" },
        { jsonrpc: "2.0", method: "tasks.start", params: { id: 5 } },
        { jsonrpc: "2.0", method: "tasks.cancel" },
        { jsonrpc: "2.0", id: "last", method: "hello" },
      );
      await talk.resultOf("last");
      await stage.untilEvent(label, "end", "tasks.cancel without an id");
    },
  },
  {
    rule: "FRAME-9",
    name: "ids come back as they were sent, and jsonrpc may be missing",
    run: async (stage) => {
      const talk = await stage.connect();
      const ids = ["", "ü\u2028", "7", 0, -1, 7, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER];
      for (const id of ids) {
        talk.send({ id, method: "hello" });
        const reply = await talk.reply(id);
        talk.check(reply["jsonrpc"] === "2.0", 'jsonrpc "2.0" in the reply', reply);
        talk.send({ jsonrpc: "2.0", id, method: "no.such.method" });
        const refusal = await talk.reply(id);
        talk.check(
          "error" in refusal && refusal["jsonrpc"] === "2.0",
          'an error with jsonrpc "2.0"',
          refusal,
        );
      }
    },
  },
  {
    rule: "FRAME-10",
    name: "a number that JSON cannot say is an error that names its path, and never sent",
    needs: ["evaluate"],
    run: async (stage) => {
      const talk = await stage.session();
      for (const kind of ["nan", "infinity", "nested-nan"]) {
        await talk.start("evaluate", { kind });
        const { message } = await talk.error("tasks.grade", {}, { code: -32000 });
        talk.check(
          kind !== "nested-nan" || message.includes("detail"),
          "a message that names the path 'detail'",
          message,
        );
      }
      await talk.hello();
    },
  },
  {
    rule: "FRAME-10",
    name: "__proto__ and constructor are data in answers, and no names of tasks or args",
    needs: ["echo-answer", "typed-args"],
    run: async (stage) => {
      const talk = await stage.session();
      await talk.start("echo-answer");
      const answer = '{"__proto__":{"admin":true},"constructor":1}';
      talk.raw.write(`{"jsonrpc":"2.0","id":"proto","method":"tasks.grade","params":{"answer":${answer}}}\n`);
      const result = await talk.resultOf("proto");
      talk.check(
        isDeepStrictEqual(JSON.stringify(result["received"]), answer),
        `the answer ${answer} to reach the task`,
        result,
      );
      for (const id of ["__proto__", "constructor", "toString"]) {
        await talk.error("tasks.start", { id }, { code: -32602, words: "unknown task" });
      }
      const args = '{"count":1,"__proto__":{"word":"stolen"}}';
      const params = `{"id":"typed-args","args":${args}}`;
      talk.raw.write(`{"jsonrpc":"2.0","id":"args","method":"tasks.start","params":${params}}\n`);
      await talk.errorOf("args", { code: -32602 });
    },
  },
  {
    rule: "FRAME-11",
    name: "replies are compact, with their keys in order",
    run: async (stage) => {
      const talk = await stage.connect();
      for (const [method, member] of [
        ["hello", "result"],
        ["no.such.method", "error"],
      ] as const) {
        talk.send({ jsonrpc: "2.0", id: 1, method });
        const line = await talk.line();
        const head = `{"jsonrpc":"2.0","id":1,"${member}":{`;
        talk.check(line.startsWith(head) && !hasSpaces(line), `${head}… without spaces`, line);
      }
    },
  },
];
