import { createHash, randomBytes } from "node:crypto";
import type { RawConnection } from "../_raw_connection.ts";
import type { Scenario } from "../_scenario.ts";
import { Talk } from "../_talk.ts";
import { until } from "../_patience.ts";
import type { ServerStage } from "./stage.ts";

const MEBIBYTE = 2 ** 20;
/** What a stalled chain may hold at most: two processes and the buffers of three connections. */
const MAX_STALLED_BYTES = 192 * MEBIBYTE;
/** How long nothing moves before that counts as a stall, in milliseconds. */
const STALL_MS = 1_000;
/** How much a daemon sends before it resets: more than one read. */
const TRUNCATED_BYTES = 300_000;

/** A stream to the talker, its greeting read, which knows the stream by a label. */
async function talker(stage: ServerStage, label: string): Promise<RawConnection> {
  const stream = await stage.tunnel("talker");
  await stream.line("the greeting of the talker binding");
  stream.write(`label ${label}\n`);
  await stream.line("the talker's answer to 'label'");
  return stream;
}

/** How a stream that was labelled has fared at the talker's end. */
async function fate(stage: ServerStage, label: string, wanted: string, sent: string): Promise<void> {
  const side = await talker(stage, `${label}-side`);
  await until(
    async () => {
      side.write(`tell ${label}\n`);
      return String(await side.line("the talker's answer to 'tell'"));
    },
    (answer) => answer === wanted,
    stage.patience,
    { sent, expected: `the daemon to see '${wanted}'` },
  );
}

/** Scenarios of "Tunnels". */
export const TUNNEL_SCENARIOS: readonly Scenario<ServerStage>[] = [
  {
    rule: "TUN-1",
    name: "a published binding is reached, with one reply; without an id there is none",
    needs: ["echo"],
    run: async (stage) => {
      const stream = await stage.tunnel("echo");
      stream.write("one");
      const echoed = await stream.bytes(3, "the bytes from the echo binding, right behind the reply");
      if (echoed.toString() !== "one") throw stream.mismatch("one", echoed.toString());
      const quiet = await stage.raw();
      quiet.write('{"jsonrpc":"2.0","method":"tunnel.open","params":{"capability":"echo"}}\ntwo');
      const first = await quiet.bytes(3, "the bytes from the echo binding, and no reply before them");
      if (first.toString() !== "two") throw quiet.mismatch("two", first.toString());
    },
  },
  {
    rule: "TUN-1",
    name: "nothing but published bindings can be reached",
    run: async (stage) => {
      const { host, port } = stage.facts.address;
      for (const capability of [
        `${host}:${String(port)}`,
        `tcp://${host}:${String(port)}`,
        "__proto__",
        "",
      ]) {
        const talk = new Talk(await stage.raw());
        const params = { capability, url: `tcp://${host}:${String(port)}`, host, port };
        await talk.error("tunnel.open", params, { code: -32000, words: "unknown capability" });
      }
    },
  },
  {
    rule: "TUN-2",
    name: "an unknown name, a wrong type, no port and a refused dial: one error each, then the end",
    needs: ["refused", "portless"],
    run: async (stage) => {
      for (const [capability, code] of [
        ["no-such-binding", -32000],
        [7, -32602],
        [null, -32602],
        [undefined, -32602],
        ["portless", -32602],
        ["refused", -32000],
      ] as const) {
        const talk = new Talk(await stage.raw());
        await talk.error("tunnel.open", { capability }, { code });
        await talk.closed("no more after the error, and the end");
      }
    },
  },
  {
    rule: "TUN-3",
    name: "the client's end is passed on, and the other direction keeps flowing to its own end",
    needs: ["echo"],
    run: async (stage) => {
      const stream = await stage.tunnel("echo");
      const bytes = randomBytes(MEBIBYTE);
      stream.write(bytes);
      stream.end();
      const { bytes: echoed } = await stream.rest("all bytes from the echo binding, then its end");
      if (!echoed.equals(bytes))
        throw stream.mismatch(`${String(MEBIBYTE)} bytes back`, `${String(echoed.length)} bytes`);
    },
  },
  {
    rule: "TUN-3",
    name: "the end comes behind everything: open, payload and end in one go",
    needs: ["echo"],
    run: async (stage) => {
      for (let times = 0; times < 10; times++) {
        const stream = await stage.raw();
        stream.write(
          '{"jsonrpc":"2.0","id":1,"method":"tunnel.open","params":{"capability":"echo"}}\nlast words',
        );
        stream.end();
        const { bytes } = await stream.rest("the reply, the bytes from the echo binding, and its end");
        if (!bytes.toString().endsWith("\nlast words")) throw stream.mismatch("last words", bytes.toString());
      }
    },
  },
  {
    rule: "TUN-3",
    name: "the daemon's end is passed on, and the client can still send",
    needs: ["talker"],
    run: async (stage) => {
      const label = stage.label();
      const stream = await talker(stage, label);
      stream.write("end\n");
      const { ending } = await stream.rest("the daemon's end");
      if (ending !== "end") throw stream.mismatch("an end", "a reset");
      stream.write("x".repeat(1_000));
      stream.end();
      await fate(
        stage,
        label,
        "end after 1000",
        "1000 bytes and an end on a stream that the daemon had ended",
      );
    },
  },
  {
    rule: "TUN-3",
    name: "a client's reset reaches the daemon as one",
    source: "strict",
    needs: ["talker"],
    run: async (stage) => {
      const label = stage.label();
      const stream = await talker(stage, label);
      stream.reset();
      await fate(stage, label, "reset after 0", "a reset of an idle stream");
    },
  },
  {
    rule: "TUN-3",
    name: "a daemon's reset reaches the client as one, also behind data",
    source: "strict",
    needs: ["talker"],
    run: async (stage) => {
      for (const bytes of [0, 1, TRUNCATED_BYTES]) {
        const stream = await talker(stage, stage.label());
        stream.write(`truncate ${String(bytes)}\n`);
        const { ending } = await stream.rest("a reset, as the daemon had reset its connection");
        if (ending !== "reset") throw stream.mismatch("a reset", "a clean end: the truncation is silent");
      }
    },
  },
  {
    rule: "TUN-4",
    name: "a client that does not read stops the daemon, and nothing is lost when it reads on",
    needs: ["echo"],
    run: async (stage) => {
      const stream = await stage.tunnel("echo");
      const chunk = randomBytes(MEBIBYTE / 16);
      stream.pause();
      const written = await stream.writeUntilStall(chunk, MAX_STALLED_BYTES, STALL_MS);
      const expected = `the stream to stall below ${String(MAX_STALLED_BYTES)} bytes`;
      if (written >= MAX_STALLED_BYTES) throw stream.mismatch(expected, `${String(written)} bytes taken`);
      stream.resume();
      stream.end();
      const hash = createHash("sha256");
      for (let bytes = 0; bytes < written; bytes += chunk.length) {
        hash.update(await stream.bytes(chunk.length, "all bytes back from the echo binding"));
      }
      const wanted = createHash("sha256");
      for (let bytes = 0; bytes < written; bytes += chunk.length) wanted.update(chunk);
      if (hash.digest("hex") !== wanted.digest("hex")) throw stream.mismatch("the same bytes back", "others");
    },
  },
];
