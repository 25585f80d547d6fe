import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import type { AbortOptions } from "./abort_options.ts";
import { findBwrap } from "./_find_bwrap.ts";
import { Sandbox } from "./sandbox.ts";
import { SandboxError } from "./sandbox_error.ts";

/** Options of {@linkcode probe}. */
export interface ProbeOptions extends AbortOptions {
  /**
   * The path of bubblewrap.
   *
   * @default {the first bwrap in PATH}
   */
  readonly bwrap?: string | undefined;
}

/** Whether this machine can sandbox. */
export type ProbeResult =
  | {
      readonly available: true;
      /** The path of bubblewrap. */
      readonly bwrap: string;
      /** Its version, such as "0.8.0". */
      readonly version: string;
      /** Whether the seccomp filter is on. */
      readonly seccomp: boolean;
      /** Whether commands can have terminals: `script` and `stty` are there. */
      readonly pty: boolean;
    }
  | {
      readonly available: false;
      /** Why not, as a sentence. */
      readonly reason: string;
      /** What to do about it. */
      readonly remedy: string;
    };

const OLDEST: readonly [major: number, minor: number] = [0, 8];
const UPGRADE = "install bubblewrap 0.8 or newer";
const run = promisify(execFile);

/**
 * Tells whether this machine can sandbox, by starting a real sandbox around an empty directory.
 *
 * @param options Where bubblewrap is.
 *
 * @example
 * ```ts
 * import { probe } from "@envport/sandbox";
 * import assert from "node:assert/strict";
 *
 * const result = await probe();
 * if (!result.available) console.error(`${result.reason}: ${result.remedy}`);
 * assert.equal(typeof result.available, "boolean");
 * ```
 */
export async function probe({ bwrap: path, signal }: ProbeOptions = {}): Promise<ProbeResult> {
  signal?.throwIfAborted();
  try {
    const bwrap = findBwrap(path);
    const version = await versionOf(bwrap, signal);
    return { available: true, bwrap, version, ...(await trySandbox(bwrap, signal)) };
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof SandboxError)) throw error;
    const remedy = error.remedy ?? "see what bubblewrap says";
    return { available: false, reason: error.message.replace(`; ${remedy}`, ""), remedy };
  }
}

async function versionOf(bwrap: string, signal: AbortSignal | undefined): Promise<string> {
  const { stdout } = await run(bwrap, ["--version"], { signal, timeout: 10_000 }).catch(() => ({
    stdout: "",
  }));
  const [version, major, minor] = /(\d+)\.(\d+)(?:\.\d+)?/.exec(stdout) ?? [];
  if (version === undefined) {
    const message = `Cannot sandbox as "${bwrap} --version" names none: current value is "${stdout.trim()}"`;
    throw new SandboxError("unavailable", message, { remedy: UPGRADE });
  }
  if (Number(major) < OLDEST[0] || (Number(major) === OLDEST[0] && Number(minor) < OLDEST[1])) {
    const message = `Cannot sandbox as bubblewrap is older than ${OLDEST.join(".")}: current value is "${version}"`;
    throw new SandboxError("unavailable", message, { remedy: UPGRADE });
  }
  return version;
}

async function trySandbox(
  bwrap: string,
  signal: AbortSignal | undefined,
): Promise<{ seccomp: boolean; pty: boolean }> {
  const root = await mkdtemp(join(tmpdir(), "envport-probe-"));
  try {
    await using sandbox = new Sandbox({ root, bwrap });
    const tools = await sandbox.spawn({ argv: ["bash", "-c", "type script stty mapfile env"] }, { signal });
    const { code } = await tools.exit;
    return { seccomp: sandbox.report.seccomp, pty: code === 0 };
  } finally {
    await rm(root, { recursive: true, force: true });
  }
}
