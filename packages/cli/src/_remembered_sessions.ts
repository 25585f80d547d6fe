import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { isJsonObject } from "@envport/wire";
import { messageOf } from "./_failure.ts";
import type { Output } from "./_output.ts";

/** Longer than any server keeps a parked task. */
const KEPT_MS = 7 * 24 * 3600 * 1000;

/**
 * The sessions that `task start` has left for `task grade`, by environment and task: a file each, for this user alone,
 * since whoever knows a session's id may resume it.
 */
export class RememberedSessions {
  readonly #folder: string;

  /** @param folder Where; by default in the user's folder for state. */
  constructor(folder: string = defaultFolder()) {
    this.#folder = folder;
  }

  /** The session that holds a task, if `task start` was the last to use it. */
  find(url: string, task: string): string | undefined {
    try {
      const entry: unknown = JSON.parse(readFileSync(this.#file(url, task), "utf8"));
      return isJsonObject(entry) && typeof entry["session"] === "string" ? entry["session"] : undefined;
    } catch {
      return undefined;
    }
  }

  /** Keeps one; where that is not possible, says what to do instead. */
  remember(url: string, task: string, session: string, output: Output): void {
    const file = this.#file(url, task);
    try {
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
      writeFileSync(`${file}.${String(process.pid)}`, JSON.stringify({ url, task, session }), {
        mode: 0o600,
      });
      renameSync(`${file}.${String(process.pid)}`, file);
      this.#removeOld();
    } catch (error) {
      output.log("warn", `The session could not be remembered: grade it with --session ${session}`, {
        error: messageOf(error),
      });
    }
  }

  /** Drops one that is over. */
  forget(url: string, task: string): void {
    try {
      rmSync(this.#file(url, task), { force: true });
    } catch {
      // Where nothing could be written, nothing is to be removed.
    }
  }

  #removeOld(): void {
    for (const name of readdirSync(this.#folder)) {
      const file = path.join(this.#folder, name);
      const { mtimeMs } = statSync(file, { throwIfNoEntry: false }) ?? { mtimeMs: Infinity };
      if (Date.now() - mtimeMs > KEPT_MS) rmSync(file, { force: true });
    }
  }

  #file(url: string, task: string): string {
    const name = createHash("sha256")
      .update(JSON.stringify([url, task]))
      .digest("hex")
      .slice(0, 32);
    return path.join(this.#folder, `${name}.json`);
  }
}

/** As the XDG base directory specification says. */
function defaultFolder(): string {
  const state = process.env["XDG_STATE_HOME"];
  return path.join(state ? state : path.join(os.homedir(), ".local/state"), "envport/sessions");
}
