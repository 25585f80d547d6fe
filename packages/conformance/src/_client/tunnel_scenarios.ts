import { randomBytes } from "node:crypto";
import type { Scenario } from "../_scenario.ts";
import type { ClientStage } from "./stage.ts";

const MEBIBYTE = 2 ** 20;
/** What a stalled chain may hold at most: one process and the buffers of two connections. */
const MAX_STALLED_BYTES = 128 * MEBIBYTE;
/** How long nothing moves before that counts as a stall, in milliseconds. */
const STALL_MS = 1_000;
const TRUNCATED_BYTES = 300_000;

/** Scenarios of "Tunnels" as far as they bind a client's forwarders; the bench holds both ends. */
export const CLIENT_TUNNEL_SCENARIOS: readonly Scenario<ClientStage>[] = [
  {
    rule: "TUN-3",
    name: "an end of either side is passed on, and the other direction keeps flowing",
    run: async (stage) => {
      await stage.connected();
      for (const first of ["local", "remote"] as const) {
        const ends = await stage.pipe();
        const [from, to] = first === "local" ? [ends.local, ends.remote] : [ends.remote, ends.local];
        const bytes = randomBytes(MEBIBYTE);
        from.write(bytes);
        from.end();
        const { bytes: arrived, ending } = await to.rest("all bytes, and then the end");
        if (!arrived.equals(bytes) || ending !== "end") {
          throw from.mismatch(
            `${String(MEBIBYTE)} bytes and an end`,
            `${String(arrived.length)} bytes and ${ending}`,
          );
        }
        to.write("back");
        await from.bytes(4, "bytes against the end");
        to.end();
        await from.rest("the other end");
      }
    },
  },
  {
    rule: "TUN-3",
    name: "a reset of either side is passed on as one, also behind data",
    source: "strict",
    run: async (stage) => {
      await stage.connected();
      for (const first of ["local", "remote"] as const) {
        for (const size of [0, TRUNCATED_BYTES]) {
          const ends = await stage.pipe();
          const [from, to] = first === "local" ? [ends.local, ends.remote] : [ends.remote, ends.local];
          from.write("x");
          await to.bytes(1, "the first byte");
          if (size > 0) from.write(randomBytes(size));
          await from.flushed();
          from.reset();
          const { ending } = await to.rest("a reset");
          if (ending !== "reset")
            throw from.mismatch(`a reset on the other side (${first} first)`, "a clean end");
        }
      }
    },
  },
  {
    rule: "TUN-4",
    name: "a side that does not read stops the other, and nothing is lost when it reads on",
    run: async (stage) => {
      await stage.connected();
      const chunk = randomBytes(MEBIBYTE / 16);
      for (const first of ["local", "remote"] as const) {
        const ends = await stage.pipe();
        const [from, to] = first === "local" ? [ends.local, ends.remote] : [ends.remote, ends.local];
        to.pause();
        const written = await from.writeUntilStall(chunk, MAX_STALLED_BYTES, STALL_MS);
        if (written >= MAX_STALLED_BYTES) {
          throw from.mismatch(
            `a stall below ${String(MAX_STALLED_BYTES)} bytes`,
            `${String(written)} bytes taken`,
          );
        }
        to.resume();
        from.end();
        for (let bytes = 0; bytes < written; bytes += chunk.length) {
          const arrived = await to.bytes(chunk.length, "all bytes when it reads on");
          if (!arrived.equals(chunk)) throw from.mismatch("the same bytes", "others");
        }
        to.end();
      }
    },
  },
];
