import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import type { Client } from "@envport/client";
import { mcp } from "@envport/mcp";
import { serve } from "@envport/server";
import type { Server } from "@envport/server";
import { ssh } from "@envport/ssh";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createEnvironment } from "./environment.ts";
import { runEpisode } from "./run_episode.ts";
import { TASKS } from "./tasks.ts";

let folder: string;
let server: Server | undefined;

beforeAll(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), "reference-env-"));
  server = await serve(await createEnvironment({ folder }));
});

afterAll(async () => {
  await server?.close();
  await rm(folder, { recursive: true });
});

const NAMED = TASKS.map((task) => ({ name: task.id, ...task }));

test.each(NAMED)("the scripted agent solves $name, through its capabilities alone", async (task) => {
  const result = await runEpisode(server!.url, task);
  expect(result.error).toBeUndefined();
  expect(result).toMatchObject({ task: task.name, score: 1, ok: true });
});

test("what the agent changed in the workspace is told as a patch, and nothing of what the task put there", async () => {
  const { patch } = await runEpisode(
    server!.url,
    TASKS.find(({ id }) => id === "repair")!,
  );
  expect(patch!.match(/^diff --git .*$/gm)).toEqual([
    "diff --git a/meeting-room/src/intervals.js b/meeting-room/src/intervals.js",
  ]);
  expect(patch!.match(/^[+-](?![+-]).*$/gm)).toHaveLength(2);
});

test.each(NAMED.filter(({ id, name }) => id === name))(
  "$id scores 0 for an agent that does nothing",
  async ({ id, capabilities }) => {
    const idle = { id, capabilities, solve: () => Promise.resolve("done") };
    expect(await runEpisode(server!.url, idle)).toMatchObject({ score: 0, ok: false });
  },
);

test("repair scores 0 for an agent that silences the test instead", async () => {
  const result = await runEpisode(server!.url, {
    id: "repair",
    capabilities: ["ssh"],
    solve: async (client: Client) => {
      const shell = await client.open(ssh);
      await shell.run("cd meeting-room && sed -i 's/stretches, 2/stretches, 3/' test/room.test.js");
      expect((await shell.run("cd meeting-room && node --test")).exitCode).toBe(0);
      return "done";
    },
  });
  expect(result).toMatchObject({ score: 0, ok: false });
});

test("tools scores 0 for an agent that refunds the wrong payment, and a half for one that leaves the ticket open", async () => {
  const refund = (which: "first" | "second") => ({
    id: "tools",
    capabilities: ["mcp"],
    solve: async (client: Client) => {
      const tools = await client.open(mcp);
      const rows = async (name: string, args = {}): Promise<Record<string, string | number>[]> =>
        ((await tools.callTool(name, args)).structuredContent as { rows: Record<string, string | number>[] })
          .rows;
      const [ticket] = await rows("list_tickets");
      const charges = await rows("list_charges", { customer: ticket!["customer"] });
      const twice = charges
        .filter(({ item }) => charges.filter((other) => other["item"] === item).length > 1)
        .toSorted((a, b) => String(a["day"]).localeCompare(String(b["day"])));
      await tools.callTool("refund", {
        charge: twice.at(which === "first" ? 0 : -1)!["id"],
        ticket: ticket!["id"],
      });
      return "done";
    },
  });
  expect(await runEpisode(server!.url, refund("first"))).toMatchObject({ score: 0, ok: false });
  expect(await runEpisode(server!.url, refund("second"))).toMatchObject({ score: 0.5, ok: false });
});

test("an agent that fails is told of, and the next episode goes on", async () => {
  const broken = { id: "repair", capabilities: [], solve: () => Promise.reject(new Error("no idea")) };
  expect(await runEpisode(server!.url, broken)).toMatchObject({ ok: false, error: "no idea" });
  expect(await runEpisode(server!.url, TASKS[0]!)).toMatchObject({ ok: true });
});
