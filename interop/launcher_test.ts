import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { peer } from "./_peer.ts";

const python = peer("launcher");
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(path.join(tmpdir(), "envport-interop-"));
});
afterAll(async () => {
  await python[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

/** What the peer runs in place of its interpreter; the words that it gives to Python are not for us. */
async function program(name: string, variables: Record<string, string>): Promise<string> {
  const file = path.join(folder, name);
  const words = [
    "--import",
    "tsx",
    "--conditions=@envport/source",
    `${import.meta.dirname}/_exam_program.ts`,
  ];
  const exports = Object.entries(variables).map(([key, value]) => `export ${key}='${value}'`);
  const command = [process.execPath, ...words].map((word) => `'${word}'`).join(" ");
  await writeFile(
    file,
    ["#!/bin/sh", `cd '${import.meta.dirname}'`, ...exports, `exec ${command}`, ""].join("\n"),
    {
      mode: 0o755,
    },
  );
  return file;
}

test("CONN-6: the peer's SubprocessRuntime starts our server, reads its port, and ends it by SIGTERM", async () => {
  const log = path.join(folder, "log");
  const score = await python.call("launched", await program("serves", { EXAM_LOG: log }), folder);
  expect(score).toBe(1);
  expect((await readFile(log, "utf8")).split("\n")).toEqual(["add ended", "add ended", "shut down"]);
});

test("the peer tells why our server did not start", async () => {
  const broken = await program("broken", { EXAM_LOG: path.join(folder, "none"), EXAM_FAILS: "1" });
  const message = (await python.call("refused", broken, folder)) as string;
  expect(message).toContain("exited with code 1");
  expect(message).toContain("the daemon has no licence");
});
