import { spawn } from "node:child_process";
import type { ChildProcess } from "node:child_process";
import { constants, openSync, readdirSync, readFileSync } from "node:fs";
import type { Duplex, Readable, Writable } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import { bwrapArgv, SERVICE_FOLDER } from "./bwrap_argv.ts";
import type { BwrapLayout } from "./bwrap_argv.ts";
import { explainFailure } from "./_explain_failure.ts";
import type { Identity } from "./_identity.ts";
import { RoadError, openRoad } from "./_road.ts";
import type { Road, RoadPlan } from "./_road.ts";
import { SandboxError } from "./sandbox_error.ts";

const AGENT_PATH = `${SERVICE_FOLDER}/agent.cjs`;
const START_TIMEOUT_MS = 30_000;
const STDERR_WAIT_MS = 500;
const MAX_STDERR_BYTES = 16_384;

/** Descriptors of bubblewrap, from the third on; those of the plan's files come last. */
const FD = { args: 3, info: 4, block: 5, agent: 6, seccomp: 7, road: 8, files: 9 } as const;
/** By which the words of a road speak with this process. */
export const ROAD_FD: number = FD.road;

/** The control groups that were made do not take processes; resource limits have to do. */
export class ConfineError extends Error {}

/** Everything that one start of bubblewrap needs, decided beforehand. */
export interface LaunchPlan {
  readonly bwrap: string;
  /** Words before `bwrap`: see {@linkcode stageCommand} and {@linkcode planRoad}. They drop root themselves. */
  readonly stage?: readonly string[] | undefined;
  readonly identity?: Identity | undefined;
  readonly layout: Omit<BwrapLayout, "fds" | "files">;
  /** The source of the spawn server. */
  readonly agent: Uint8Array;
  readonly seccomp?: Uint8Array | undefined;
  /** Files that are made of their text. */
  readonly files: readonly { readonly dst: string; readonly text: string }[];
  /** The way to public addresses; its words are in `stage`. */
  readonly road?: RoadPlan | undefined;
  /** bash's words before the spawn server's, such as `ulimit -c 0;`. */
  readonly prelude: string;
  /** Words that the spawn server is started with. */
  readonly agentWords: readonly string[];
  /** Node inside. */
  readonly node: string;
  /** Called with the processes of the sandbox before anything in it runs. */
  readonly confine?: ((pids: readonly number[]) => void) | undefined;
}

/** A sandbox whose spawn server is up. */
export interface Launched {
  /** bubblewrap, outermost. */
  readonly child: ChildProcess;
  readonly orders: Writable;
  readonly reports: Readable;
  /** What it wrote to stderr so far. */
  readonly complaints: () => string;
  /** An open `/proc/<pid>/fd` of the spawn server: it names that process even when the number is used again. */
  readonly agentFolder: number;
  /** An open `/proc/<pid>` of the namespace's first process. */
  readonly initFolder: number;
  readonly road: Road | undefined;
}

/**
 * Starts bubblewrap and waits for the spawn server's first sign of life.
 *
 * @throws {SandboxError} If it does not come up (`start-failed`) or the machine does not let it (`unavailable`), with
 * bubblewrap's own words and the remedy.
 * @throws {ConfineError} If the processes cannot be confined.
 * @throws {RoadError} If the road does not open.
 */
export async function launch(plan: LaunchPlan, signal: AbortSignal | undefined): Promise<Launched> {
  signal?.throwIfAborted();
  const child = spawnBwrap(plan);
  const complaints = collect(child.stderr!, MAX_STDERR_BYTES);
  const limit = AbortSignal.timeout(START_TIMEOUT_MS);
  try {
    const died = new Promise<never>((_, reject) => {
      child.once("error", reject);
      child.once("exit", () => reject(new Error("bubblewrap ended")));
    });
    const aborted = rejection(signal === undefined ? limit : AbortSignal.any([signal, limit]));
    return await Promise.race([died, aborted, bringUp(plan, child, complaints)]);
  } catch (error) {
    child.kill("SIGKILL");
    signal?.throwIfAborted();
    if (error instanceof ConfineError || error instanceof RoadError) {
      for (const pipe of child.stdio) pipe?.destroy();
      throw error;
    }
    if (plan.identity !== undefined && isSwitchError(error)) throw identityError(plan.identity, error);
    await Promise.race([once(child.stderr!, "close"), sleep(STDERR_WAIT_MS)]);
    const reason = limit.aborted
      ? `it was not ready within ${String(START_TIMEOUT_MS)} ms`
      : (error as Error).message;
    throw explainFailure(complaints(), reason, error);
  }
}

function spawnBwrap(plan: LaunchPlan): ChildProcess {
  const { layout, identity, stage } = plan;
  const argv = bwrapArgv({
    ...layout,
    fds: { info: FD.info, block: FD.block, ...(plan.seccomp === undefined ? {} : { seccomp: FD.seccomp }) },
    files: [
      { fd: FD.agent, dst: AGENT_PATH },
      ...plan.files.map(({ dst }, index) => ({ fd: FD.files + index, dst })),
    ],
  });
  const server = [plan.node, "--max-old-space-size=128", AGENT_PATH, ...plan.agentWords];
  const payload = ["bash", "--norc", "--noprofile", "-c", `${plan.prelude} exec "$0" "$@"`, ...server];
  const [program = plan.bwrap, ...words] = [
    ...(stage ?? []),
    plan.bwrap,
    "--args",
    String(FD.args),
    "--",
    ...payload,
  ];
  const child = spawn(program, words, {
    ...(stage === undefined ? identity : {}),
    cwd: "/",
    env: { PATH: layout.path },
    stdio: new Array<"pipe">(FD.files + plan.files.length).fill("pipe"),
  });
  const pipes: readonly unknown[] = child.stdio;
  // Whoever waits for the start hears of it first; later ones have nothing to add.
  child.on("error", () => {});
  // A child that is gone early closes its ends; the exit says why.
  for (const pipe of child.stdio) pipe?.on("error", () => {});
  const give = (fd: number, bytes: Uint8Array | string): void => void (pipes[fd] as Writable).end(bytes);
  give(FD.args, argv.map((word) => `${word}\0`).join(""));
  give(FD.agent, plan.agent);
  give(FD.seccomp, plan.seccomp ?? "");
  plan.files.forEach(({ text }, index) => give(FD.files + index, text));
  return child;
}

async function bringUp(plan: LaunchPlan, child: ChildProcess, complaints: () => string): Promise<Launched> {
  const pipes: readonly unknown[] = child.stdio;
  const road = plan.road && (await openRoad(plan.road, child, pipes[FD.road] as Duplex, complaints));
  const init = await readInit(child.stdio[FD.info] as Readable);
  const initFolder = openSync(`/proc/${String(init)}`, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    plan.confine?.([child.pid!, init]);
  } catch (error) {
    throw new ConfineError("the control groups take no processes", { cause: error });
  }
  (pipes[FD.block] as Writable).end("x");
  const reports = child.stdout!;
  await once(reports, "readable");
  const agentFolder = openSync(
    `/proc/${String(firstChild(init))}/fd`,
    constants.O_RDONLY | constants.O_DIRECTORY,
  );
  return { child, orders: child.stdin!, reports, complaints, agentFolder, initFolder, road };
}

/** bubblewrap's `--info-fd`: a JSON object with the host's number of the namespace's first process. */
async function readInit(info: Readable): Promise<number> {
  let text = "";
  for await (const chunk of info.setEncoding("utf8")) {
    text += String(chunk);
    if (text.includes("}")) break;
  }
  const { "child-pid": pid } = JSON.parse(text) as { "child-pid"?: unknown };
  if (!Number.isInteger(pid)) throw new Error(`bubblewrap named no process: "${text}"`);
  return pid as number;
}

function firstChild(pid: number): number {
  try {
    const [first] = readFileSync(`/proc/${String(pid)}/task/${String(pid)}/children`, "utf8").split(" ");
    if (first) return Number(first);
  } catch {
    // A kernel without the children file.
  }
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      if (new RegExp(`^PPid:\\s+${String(pid)}$`, "m").test(readFileSync(`/proc/${name}/status`, "utf8")))
        return Number(name);
    } catch {
      // It ended meanwhile.
    }
  }
  throw new Error("the spawn server is gone");
}

/** In a container, root may not be allowed to become somebody else, or not everybody. */
function isSwitchError(error: unknown): error is Error {
  const { syscall = "", code = "" } = error as NodeJS.ErrnoException;
  return syscall.startsWith("spawn") && ["EPERM", "EINVAL"].includes(code);
}

function identityError({ uid, gid }: Identity, cause: Error): SandboxError {
  return new SandboxError(
    "invalid-identity",
    `Cannot run the sandbox as this root may not become that user: current value is "${String(uid)}:${String(gid)}"`,
    { cause, remedy: "choose an identity that the container maps, or serve as an ordinary user" },
  );
}

function collect(stream: Readable, limit: number): () => string {
  let text = "";
  stream.setEncoding("utf8").on("data", (chunk: string) => {
    text = (text + chunk).slice(0, limit);
    if (text.length === limit) stream.pause();
  });
  return () => text;
}

function once(stream: Readable, event: string): Promise<void> {
  return new Promise((resolve) => stream.once(event, resolve));
}

function rejection(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    if (signal.aborted) reject(signal.reason as Error);
    signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
  });
}
