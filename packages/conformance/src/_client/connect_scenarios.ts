import { setTimeout as sleep } from "node:timers/promises";
import type { JsonObject } from "@envport/wire";
import { isJsonObject } from "@envport/wire";
import { Mismatch } from "../_mismatch.ts";
import { RawConnection } from "../_raw_connection.ts";
import type { Scenario } from "../_scenario.ts";
import { ECHO, HELLO, OLD_HELLO, SESSION_ID, ServedTalk } from "./served_talk.ts";
import type { ClientStage } from "./stage.ts";

/** How long nobody listens at first, in milliseconds: long enough to be tried. */
const NOT_READY_MS = 700;
/** How long a client that must give up may wait for its server, in milliseconds. */
const READY_MS = 300;

const SHELL = {
  name: "shell",
  protocol: "ssh/2",
  url: "ssh://agent:hunter2@10.255.255.1:2222/home?cols=80#top",
  params: { user: "agent" },
};
const TOOLS = ["tools", "more"].map((name) => ({ ...ECHO, name, protocol: "mcp/2025-11-25" }));

const TALKER = { ...ECHO, name: "talker", protocol: "talker/1" };

function checkConnections(stage: ClientStage, wanted: number, sent: string): void {
  if (stage.accepted === wanted) return;
  const expected = `${String(wanted)} connections of the client in all`;
  throw new Mismatch({ sent, expected, got: String(stage.accepted) });
}

function withBindings(...bindings: object[]): JsonObject {
  return { ...HELLO, bindings };
}

/** Scenarios of CLI-1 to CLI-4, CLI-8 and CLI-9: how a client finds its way. */
export const CONNECT_SCENARIOS: readonly Scenario<ClientStage>[] = [
  {
    rule: "CLI-1",
    name: "a connection that is refused means not ready yet",
    run: async (stage) => {
      await stage.unlisten();
      const connecting = stage.begin("connect");
      await sleep(NOT_READY_MS);
      await stage.listen();
      const talk = await stage.session();
      talk.answer(await talk.request("hello"), HELLO);
      await stage.has(connecting, { session_id: SESSION_ID, env: HELLO["env"] });
    },
  },
  {
    rule: "CLI-1",
    name: "a server that is not ready in time is an error, and no connection is tried any more",
    run: async (stage) => {
      await stage.unlisten();
      await stage.fails(stage.begin("connect", { readyTimeout: READY_MS }));
      await stage.listen();
      await sleep(NOT_READY_MS);
      checkConnections(stage, 0, "an error of connect");
    },
  },
  ...(["ended", "reset"] as const).map((how): Scenario<ClientStage> => ({
    rule: "CLI-1",
    name: `a connection that is accepted and ${how} means not ready yet`,
    run: async (stage) => {
      const connecting = stage.begin("connect");
      for (let times = 0; times < 2; times++) {
        const raw = await stage.accept();
        if (times === 1) await raw.line("hello");
        if (how === "reset") raw.reset();
        else raw.end();
      }
      const talk = await stage.session();
      talk.answer(await talk.request("hello"), HELLO);
      await stage.ok(connecting);
    },
  })),
  {
    rule: "CLI-1",
    name: "an error frame is final at once, and told",
    run: async (stage) => {
      const connecting = stage.begin("connect");
      const talk = await stage.session();
      talk.refuse(await talk.request("hello"), -32000, "no room in the bench");
      await stage.fails(connecting, ["no room in the bench"]);
      await talk.raw.rest("the client to close the connection");
      checkConnections(stage, 1, "an error frame to hello");
    },
  },
  {
    rule: "CLI-2",
    name: "a binding is found by name, protocol and family, and its url is routed without its password",
    run: async (stage) => {
      await stage.connected(withBindings(SHELL, ECHO));
      for (const ref of ["shell", "ssh/2", "ssh"]) {
        const pending = stage.begin("binding", { ref });
        const { url, ...others } = await stage.ok(pending);
        const routed = /^ssh:\/\/agent@127\.0\.0\.1:\d+\/home\?cols=80#top$/.test(String(url));
        if (!routed) {
          const expected = "ssh://agent@127.0.0.1:<port>/home?cols=80#top";
          throw new Mismatch({ sent: pending.what, expected, got: String(url) });
        }
        if (others["name"] !== "shell" || others["protocol"] !== "ssh/2" || !isJsonObject(others["params"])) {
          throw new Mismatch({
            sent: pending.what,
            expected: "name, protocol and params",
            got: JSON.stringify(others),
          });
        }
      }
    },
  },
  {
    rule: "CLI-2",
    name: "several matches and none are errors that list what there is",
    run: async (stage) => {
      await stage.connected(withBindings(...TOOLS, ECHO));
      await stage.fails(stage.begin("binding", { ref: "mcp" }), ["tools", "more"]);
      await stage.fails(stage.begin("binding", { ref: "cdp" }), ["tools", "more", "echo"]);
      await stage.ok(stage.begin("binding", { ref: "tools" }));
    },
  },
  {
    rule: "CLI-2",
    name: "forwarders listen on 127.0.0.1 only, one for each binding",
    run: async (stage) => {
      await stage.connected(withBindings(...TOOLS));
      const [first, second] = [await stage.route("tools"), await stage.route("more")];
      const local = await stage.local(first);
      const { talk, reply } = await stage.tunnel("tools");
      talk.raw.write(`${reply}first`);
      await local.bytes(5, "the first binding's bytes");
      const other = await stage.local(second);
      const { talk: more } = await stage.tunnel("more");
      more.raw.destroy();
      await other.rest("the end of what was not opened");
      const elsewhere = { host: "127.0.0.2", port: Number(first.port) };
      const connected = await RawConnection.connect(elsewhere, stage.patience).catch(() => undefined);
      connected?.destroy();
      if (connected)
        throw connected.mismatch("127.0.0.2 to refuse, as only 127.0.0.1 is bound", "a connection");
    },
  },
  {
    rule: "CLI-3",
    name: "a binding on a public address goes through the control port",
    run: async (stage) => {
      await stage.connected(withBindings({ ...ECHO, url: "tcp://203.0.113.7:7" }));
      const url = await stage.route("echo");
      const local = await stage.local(url);
      const { talk, reply } = await stage.tunnel("echo");
      talk.raw.write(`${reply}here`);
      await local.bytes(4, "bytes through the control port");
    },
  },
  {
    rule: "CLI-4",
    name: "open connects once, and what it opened is closed with the client",
    run: async (stage) => {
      await stage.connected(withBindings(TALKER));
      const opening = stage.begin("open", { ref: "talker" });
      const { talk: tunnel, reply } = await stage.tunnel("talker");
      tunnel.raw.write(`${reply}fixture ready\n`);
      await stage.has(opening, { greeting: "fixture ready" });
      await stage.has(stage.begin("open", { ref: "talker" }), { greeting: "fixture ready" });
      checkConnections(stage, 2, "open, twice");
      stage.begin("close");
      await tunnel.raw.rest("the tunnel to be closed with the client");
    },
  },
  {
    rule: "CLI-4",
    name: "open tries three times if the connection fails",
    run: async (stage) => {
      await stage.connected(withBindings(TALKER));
      const opening = stage.begin("open", { ref: "talker" });
      for (let tries = 0; tries < 3; tries++) {
        const { talk: tunnel, reply } = await stage.tunnel("talker");
        tunnel.raw.write(tries < 2 ? reply : `${reply}fixture ready\n`);
        if (tries < 2) tunnel.raw.reset();
      }
      await stage.has(opening, { greeting: "fixture ready" });
    },
  },
  {
    rule: "CLI-4",
    name: "open gives up after three tries",
    run: async (stage) => {
      await stage.connected(withBindings(TALKER));
      const opening = stage.begin("open", { ref: "talker" });
      for (let tries = 0; tries < 3; tries++) {
        const { talk: tunnel, reply } = await stage.tunnel("talker");
        tunnel.raw.write(reply);
        tunnel.raw.reset();
      }
      await stage.fails(opening);
      checkConnections(stage, 4, "resets of three tunnels");
    },
  },
  {
    rule: "CLI-8",
    name: "a refused tunnel is reported, and the local connection is reset",
    run: async (stage) => {
      await stage.connected();
      const local = await stage.local(await stage.route("echo"));
      const talk = new ServedTalk(await stage.accept("a tunnel"));
      talk.refuse(await talk.request("tunnel.open"), -32000, "no daemon in the bench");
      const { ending } = await local.rest("the local connection to be reset");
      if (ending !== "reset") throw local.mismatch("a reset of the local connection", "a clean end");
      const event = await stage.event("refused", "an error frame to tunnel.open");
      const told = JSON.stringify(event);
      if (!told.includes("no daemon in the bench")) {
        throw new Mismatch({
          sent: "an error frame to tunnel.open",
          expected: "the reason in the event",
          got: told,
        });
      }
    },
  },
  {
    rule: "CLI-9",
    name: "a lost connection is resumed by id, and local ports stay as they were",
    run: async (stage) => {
      const talk = await stage.connected();
      const before = await stage.route("echo");
      await stage.answered(talk, ["start", { id: "echo" }], "tasks.start", { prompt: "p" });
      talk.raw.reset();
      const resuming = stage.begin("resume");
      const again = await stage.session();
      const hello = await again.request("hello");
      if (hello.params["session_id"] !== SESSION_ID) {
        throw again.raw.mismatch(`hello with session_id ${SESSION_ID}`, JSON.stringify(hello.params));
      }
      again.answer(hello, HELLO);
      await stage.ok(resuming);
      const after = await stage.route("echo");
      if (after.href !== before.href) throw again.raw.mismatch(`the route ${before.href}`, after.href);
      await stage.answered(again, ["grade", { answer: "a" }], "tasks.grade", { score: 1 });
    },
  },
  {
    rule: "SESS-9",
    name: "a client works with a server that tells neither protocol nor capabilities",
    source: "base",
    run: async (stage) => {
      const talk = await stage.connected(OLD_HELLO);
      await stage.answered(talk, ["list"], "tasks.list", { tasks: [] });
      await stage.answered(talk, ["start", { id: "echo" }], "tasks.start", { prompt: "p" });
      await stage.answered(talk, ["grade", { answer: "a" }], "tasks.grade", { score: 1 });
    },
  },
];
