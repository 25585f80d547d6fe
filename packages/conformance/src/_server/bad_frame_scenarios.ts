import type { Scenario } from "../_scenario.ts";
import type { ServerStage } from "./stage.ts";

const MAX_NESTING = 512;

const HELLO = { jsonrpc: "2.0", id: "after", method: "hello" };

/** Lines that are no JSON. */
const NOT_JSON: readonly (readonly [name: string, line: string | Buffer])[] = [
  ["half an object", '{"jsonrpc":"2.0","id":1'],
  ["a byte order mark", '\ufeff{"id":1,"method":"hello"}'],
  ["NaN", '{"id":1,"method":"hello","params":{"x":NaN}}'],
  ["a raw control character in a string", '{"id":"\u0001","method":"hello"}'],
  ["bytes that are no UTF-8", Buffer.from('{"id":"\xff","method":"hello"}', "latin1")],
  [
    "a surrogate in UTF-8",
    Buffer.concat([Buffer.from('{"id":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')]),
  ],
  [
    "deeper than 512",
    `{"id":1,"method":"hello","params":{"x":${"[".repeat(MAX_NESTING)}${"]".repeat(MAX_NESTING)}}}`,
  ],
];

/** JSON that is no request; what is not told is answered with id null and -32600. */
const NO_REQUEST: readonly { line: string; id?: string; code?: number }[] = [
  { line: "[]" },
  { line: '[{"jsonrpc":"2.0","id":1,"method":"hello"}]' },
  { line: '"hello"' },
  { line: "7" },
  { line: "null" },
  { line: "{}" },
  { line: '{"jsonrpc":"2.0"}' },
  { line: '{"id":"m","method":7}', id: "m" },
  { line: '{"id":"m"}', id: "m" },
  { line: '{"method":null}' },
  { line: '{"id":{},"method":"hello"}' },
  { line: '{"id":[1],"method":"hello"}' },
  { line: '{"id":true,"method":"hello"}' },
  { line: '{"id":1.5,"method":"hello"}' },
  { line: '{"id":9007199254740993,"method":"hello"}' },
  { line: '{"id":"p","method":"hello","params":[]}', id: "p", code: -32602 },
  { line: '{"id":"p","method":"hello","params":"x"}', id: "p", code: -32602 },
  { line: '{"id":"p","method":"tasks.start","params":7}', id: "p", code: -32602 },
];

/** Scenarios of FRAME-4 to FRAME-7: frames that are out of order. */
export const BAD_FRAME_SCENARIOS: readonly Scenario<ServerStage>[] = [
  {
    rule: "FRAME-4",
    name: "a line over the limit inside a session gets one error that names the limit, and the end",
    run: async (stage) => {
      const { maxFrameBytes } = stage.facts.limits;
      const talk = await stage.session();
      const text = "x".repeat(maxFrameBytes);
      talk.raw.write(`{"jsonrpc":"2.0","id":1,"method":"tasks.start","params":{"id":"${text}"}}\n`);
      talk.raw.lastSent = `a line of more than ${String(maxFrameBytes)} bytes`;
      await talk.errorOf(null, { code: -32600, words: String(maxFrameBytes) });
      await talk.closed("no more after the error, and the end");
    },
  },
  {
    rule: "FRAME-4",
    name: "a long line under the limit is read",
    needs: ["echo"],
    run: async (stage) => {
      const talk = await stage.session();
      const text = "x".repeat(Math.min(2 ** 20, stage.facts.limits.maxFrameBytes / 2));
      talk.check((await talk.start("echo", { text })) === text, "the long prompt, whole", "another text");
    },
  },
  {
    rule: "FRAME-5",
    name: "a prompt over the limit is an error that names it, its task is over, and the connection stays usable",
    needs: ["big", "echo", "ledger"],
    alone: true,
    run: async (stage) => {
      const { maxFrameBytes } = stage.facts.limits;
      const [talk, label] = [await stage.session(), stage.label()];
      const params = { id: "big", args: { bytes: maxFrameBytes + 1, label } };
      await talk.error("tasks.start", params, { code: -32603, words: String(maxFrameBytes) });
      await stage.untilEvent(label, "end", "tasks.start of a prompt that cannot be sent");
      await talk.error("tasks.grade", {}, { code: -32600, words: "no task in progress" });
      await talk.start("echo");
    },
  },
  {
    rule: "FRAME-5",
    name: "an evaluation over the limit is an error that names it, and the connection stays usable",
    needs: ["typed-answer", "echo"],
    run: async (stage) => {
      const { maxFrameBytes } = stage.facts.limits;
      const talk = await stage.session();
      await talk.start("typed-answer");
      // The task tells it twice: as the content and as the raw text.
      const answer = "x".repeat(Math.ceil(maxFrameBytes * 0.6));
      await talk.error("tasks.grade", { answer }, { code: -32603, words: String(maxFrameBytes) });
      await talk.start("echo");
      await talk.exactly("tasks.grade", {}, { score: 1 });
    },
  },
  ...NOT_JSON.map(([name, line]): Scenario<ServerStage> => ({
    rule: "FRAME-6",
    name: `inside a session ${name} gets -32700 with id null, and the session goes on`,
    run: async (stage) => {
      const talk = await stage.session();
      talk.send(line, HELLO);
      await talk.errorOf(null, { code: -32700 });
      const { session_id: id } = await talk.resultOf("after");
      talk.check(id === talk.sessionId, `the same session, ${talk.sessionId}`, id);
    },
  })),
  {
    rule: "FRAME-6",
    name: "nesting of exactly 512 is read, and empty lines are ignored",
    run: async (stage) => {
      const talk = await stage.session();
      // The frame and its params are two levels.
      const levels = MAX_NESTING - 2;
      talk.send(`{"id":"deep","method":"hello","params":{"x":${"[".repeat(levels)}${"]".repeat(levels)}}}`);
      await talk.resultOf("deep");
      talk.raw.write("\n\r\n \t\n\n");
      await talk.hello();
    },
  },
  {
    rule: "FRAME-6",
    name: "the third line in a row that is no JSON closes the connection, and not one that is not in a row",
    run: async (stage) => {
      const talk = await stage.session();
      for (const line of ["x", "x", HELLO, "x", "[]", "x", "x", HELLO]) {
        talk.send(line);
        if (line === HELLO) await talk.resultOf("after");
        else await talk.errorOf(null, { code: line === "x" ? -32700 : -32600 });
      }
      talk.send("x", "x", "x", HELLO);
      for (let bad = 0; bad < 3; bad++) await talk.errorOf(null, { code: -32700 });
      await talk.closed("the end after the third error in a row");
    },
  },
  {
    rule: "FRAME-7",
    name: "JSON that is no request is answered, and the session goes on",
    run: async (stage) => {
      const talk = await stage.session();
      for (const { line, id = null, code = -32600 } of NO_REQUEST) {
        talk.send(line);
        await talk.errorOf(id, { code });
      }
      await talk.hello();
    },
  },
  {
    rule: "FRAME-7",
    name: "wrong params of a notification are not answered",
    run: async (stage) => {
      const talk = await stage.session();
      talk.send('{"method":"hello","params":[]}', HELLO);
      await talk.resultOf("after");
    },
  },
];
