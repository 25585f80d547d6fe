import type { Scenario } from "../_scenario.ts";
import { NotClaimed } from "../_mismatch.ts";
import { RawConnection } from "../_raw_connection.ts";
import { until } from "../_patience.ts";
import type { ServerStage } from "./stage.ts";

const PREFACE_BYTES = 64 * 1024;
/** More connections than this are not opened to find a limit. */
const MAX_PROBED_CONNECTIONS = 1_000;
/** The beginning of a TLS 1.2 ClientHello: a handshake record, its length, and some of its bytes. */
const CLIENT_HELLO = Buffer.from("16030100c8010000c40303" + "5a".repeat(60), "hex");

/** What an invalid first line may be, and the code that answers it. */
const INVALID_FIRST_LINES: readonly (readonly [name: string, line: string | Buffer, code: number])[] = [
  ["no JSON", "hello", -32700],
  ["half a frame", '{"jsonrpc":"2.0","id":1,', -32700],
  ["no UTF-8", Buffer.from([0x22, 0xff, 0xfe, 0x22]), -32700],
  ["an array", '[{"jsonrpc":"2.0","id":1,"method":"hello"}]', -32600],
  ["a number", "7", -32600],
  ["a frame without a method", '{"jsonrpc":"2.0","id":null}', -32600],
];

/** A start that must not happen, for the fixture's record to tell if it did. */
function forbiddenStart(label: string): object {
  return { jsonrpc: "2.0", method: "tasks.start", params: { id: "echo", args: { label } } };
}

/** Scenarios of "Connection grammar". */
export const CONNECTION_SCENARIOS: readonly Scenario<ServerStage>[] = [
  {
    rule: "CONN-1",
    name: "tunnel.open inside a session is an unknown method",
    run: async (stage) => {
      const talk = await stage.session();
      await talk.error("tunnel.open", { capability: "echo" }, { code: -32601, words: "method not found" });
      await talk.hello();
    },
  },
  {
    rule: "CONN-1",
    name: "a session begins with any method, and a stream never becomes one",
    needs: ["echo"],
    run: async (stage) => {
      await (await stage.connect()).result("tasks.list");
      const stream = await stage.tunnel("echo");
      const hello = '{"jsonrpc":"2.0","id":2,"method":"hello"}\n';
      stream.write(hello);
      const echoed = await stream.bytes(hello.length, "the same bytes from the echo binding");
      if (echoed.toString() !== hello) throw stream.mismatch(hello, echoed.toString());
    },
  },
  {
    rule: "CONN-2",
    name: "faults of some connections leave sessions and streams alone",
    needs: ["echo"],
    run: async (stage) => {
      const talks = await Promise.all(Array.from({ length: 10 }, () => stage.session()));
      const streams = await Promise.all(Array.from({ length: 10 }, () => stage.tunnel("echo")));
      const ids = new Set(talks.map(({ sessionId }) => sessionId));
      talks[0]!.check(ids.size === talks.length, "a session of its own on each connection", [...ids]);
      for (const bytes of ["no frame\n", Buffer.from([0, 0xff, 0x0a]), '{"id":', "\n"]) {
        const bad = await stage.raw();
        bad.write(bytes);
        bad.reset();
      }
      talks[0]!.raw.reset();
      streams[0]!.reset();
      await Promise.all(talks.slice(1).map((talk) => talk.start("echo", { text: talk.sessionId })));
      for (const talk of talks.slice(1)) await talk.exactly("tasks.grade", { answer: "" }, { score: 1 });
      for (const [index, stream] of streams.slice(1).entries()) {
        stream.write(`stream ${String(index)}`);
        const echoed = await stream.bytes(8, "its own bytes from the echo binding");
        if (echoed.toString() !== `stream ${String(index)}`)
          throw stream.mismatch("the same bytes", echoed.toString());
      }
    },
  },
  {
    rule: "CONN-2",
    name: "an exception in a task leaves its session usable",
    needs: ["throw-start", "echo"],
    run: async (stage) => {
      const talk = await stage.session();
      await talk.error("tasks.start", { id: "throw-start" }, { code: -32000 });
      await talk.start("echo");
      await talk.exactly("tasks.grade", {}, { score: 1 });
    },
  },
  {
    rule: "CONN-3",
    name: "a connection without a complete first frame is closed in time",
    run: async (stage) => {
      const { prefaceTimeout } = stage.facts.limits;
      const patience = { ms: prefaceTimeout + stage.patience.ms };
      const expected = `the connection to be closed after ${String(prefaceTimeout)} ms`;
      await Promise.all(
        ["", '{"jsonrpc":"2.0",'].map(async (bytes) => {
          const raw = await RawConnection.connect(stage.facts.address, patience);
          if (bytes !== "") raw.write(bytes);
          await raw.rest(expected).finally(() => raw.destroy());
        }),
      );
    },
  },
  {
    rule: "CONN-3",
    name: "a first line over 64 KiB gets one error and is closed; an empty one is ignored",
    run: async (stage) => {
      const talk = await stage.connect();
      talk.raw.write(
        `{"jsonrpc":"2.0","id":1,"method":"hello","params":{"x":"${"x".repeat(PREFACE_BYTES)}"}}\n`,
      );
      await talk.errorOf(null, { code: -32600, words: "65536" });
      await talk.closed("no more after the error, and the end");
      const other = await stage.connect();
      other.raw.write("\n\r\n\n");
      await other.hello();
    },
  },
  {
    rule: "CONN-3",
    name: "one connection more than maxConnections is answered with an error and closed",
    alone: true,
    run: async (stage) => {
      const { maxConnections } = stage.facts.limits;
      if (maxConnections > MAX_PROBED_CONNECTIONS) {
        throw new NotClaimed(
          `maxConnections is ${String(maxConnections)}; run the fixture with at most ${String(MAX_PROBED_CONNECTIONS)}`,
        );
      }
      const open = await Promise.all(Array.from({ length: maxConnections }, () => stage.raw()));
      const extra = await stage.connect();
      await extra.errorOf(null, { code: -32000, type: "capacity" });
      await extra.closed("no more after the error, and the end");
      for (const raw of open) raw.destroy();
      await until(
        async () => await (await stage.connect()).call("hello").catch(() => ({})),
        (reply) => "result" in reply,
        stage.patience,
        { sent: "hello after connections were closed", expected: "room for new ones" },
      );
    },
  },
  ...INVALID_FIRST_LINES.map(([name, line, code]): Scenario<ServerStage> => ({
    rule: "CONN-4",
    name: `a first line that is ${name} gets one error, and nothing behind it is read`,
    needs: ["echo", "ledger"],
    run: async (stage) => {
      const [talk, label] = [await stage.connect(), stage.label()];
      talk.send(line, forbiddenStart(label));
      await talk.errorOf(null, { code });
      await talk.closed("no more after the error, and the end");
      await stage.checkEvents(label, "", "a start behind the invalid line");
    },
  })),
  {
    rule: "CONN-4",
    name: "an HTTP request is answered with a plain 400, and its body drives nothing",
    needs: ["echo", "ledger"],
    run: async (stage) => {
      const label = stage.label();
      const body = `${JSON.stringify(forbiddenStart(label))}\n`;
      for (const head of [
        `POST / HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: ${String(body.length)}\r\n\r\n`,
        "GET /index.html HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
      ]) {
        const raw = await stage.raw();
        raw.write(head + body);
        const { bytes } = await raw.rest("an HTTP 400 and the end");
        const answer = bytes.toString();
        if (!/^HTTP\/1\.[01] 400 /.test(answer)) throw raw.mismatch("HTTP/1.1 400 …", answer);
        if (!answer.split("\r\n\r\n")[1]) throw raw.mismatch("a body that says what this port is", answer);
      }
      await stage.checkEvents(label, "", "a start in the body of an HTTP request");
    },
  },
  {
    rule: "CONN-4",
    name: "a TLS ClientHello closes the connection, and nothing behind it is read",
    needs: ["echo", "ledger"],
    run: async (stage) => {
      const [raw, label] = [await stage.raw(), stage.label()];
      raw.write(Buffer.concat([CLIENT_HELLO, Buffer.from(`\n${JSON.stringify(forbiddenStart(label))}\n`)]));
      await raw.rest("the connection to be closed");
      await stage.checkEvents(label, "", "a start behind a TLS ClientHello");
    },
  },
  {
    rule: "CONN-6",
    name: "a serving program announces its port once bound, on 127.0.0.1 and not on other addresses",
    run: async (stage) => {
      const { launched } = stage.facts;
      if (!launched)
        throw new NotClaimed(
          "the bench must start the server itself: give it a command instead of an address",
        );
      await stage.session();
      const elsewhere = { host: "127.0.0.2", port: launched.address.port };
      const connected = await RawConnection.connect(elsewhere, stage.patience).catch(() => undefined);
      connected?.destroy();
      if (connected)
        throw connected.mismatch("127.0.0.2 to refuse, as only 127.0.0.1 is bound", "a connection");
    },
  },
];
