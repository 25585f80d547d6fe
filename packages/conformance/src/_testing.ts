/** Programs that tests run from their sources, and what a report says in short. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { onTestFinished } from "vitest";
import { FaultyServer } from "../fixtures/faulty/faulty_server.ts";
import type { FaultName } from "../fixtures/faulty/faults.ts";
import type { ServerFacts } from "./_server/stage.ts";
import type { Report } from "./report.ts";

const folder = path.resolve(import.meta.dirname, "..");

/** A command that runs a TypeScript file of this package. */
export function program(file: string, ...words: string[]): string[] {
  const flags = ["--import", "tsx", "--conditions=@envport/source"];
  return [process.execPath, ...flags, path.join(folder, file), ...words];
}

/** Runs the command `envport-conformance` as a program. */
export async function cli(...words: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const [command, ...args] = program("src/_cli.ts", ...words);
  const child = spawn(command!, args, { cwd: folder, stdio: ["ignore", "pipe", "pipe"] });
  let [stdout, stderr] = ["", ""];
  child.stdout.on("data", (chunk) => (stdout += String(chunk)));
  child.stderr.on("data", (chunk) => (stderr += String(chunk)));
  const [code] = (await once(child, "close")) as [number];
  return { code, stdout, stderr };
}

/** The rules of a report that did not pass: `SESS-6 fail: a retry …: sent …; expected …; got …`. */
export function blemishes({ rules, model }: Report): string[] {
  const bad = rules.flatMap(({ id, status, reason, scenarios }) =>
    status === "pass"
      ? []
      : status === "not-claimed"
        ? [`${id} not claimed: ${reason ?? ""}`]
        : scenarios
            .filter((one) => one.status === "fail")
            .map((one) => `${id} fail: ${one.name}: ${one.reason ?? ""}`),
  );
  if (!model || model.status === "pass") return bad;
  return [
    ...bad,
    `model fail (seed ${String(model.seed)}): ${model.reason ?? ""}\n${model.sequence?.join("\n") ?? ""}`,
  ];
}

/** Serves the faulty server until the test ends. */
export async function faulty(fault?: FaultName): Promise<ServerFacts & { url: string }> {
  const server = new FaultyServer(fault);
  const port = await server.listen();
  onTestFinished(() => server.close());
  const address = { host: "127.0.0.1", port };
  return { url: `tcp://127.0.0.1:${String(port)}`, address, patience: { ms: 5_000 }, limits: server.limits };
}
