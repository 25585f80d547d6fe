/** The processes of a browser, as the kernel tells. */
import { readFileSync, readdirSync } from "node:fs";

/** Facts of `/proc/<pid>/status`, by name; undefined once it is gone. */
export function statusOf(pid: number): Map<string, string> | undefined {
  try {
    const text = readFileSync(`/proc/${String(pid)}/status`, "utf8");
    return new Map(text.split("\n").map((line) => line.split(":\t") as [string, string]));
  } catch {
    return undefined;
  }
}

/** Its words, joined by blanks. */
export function wordsOf(pid: number): string {
  try {
    return readFileSync(`/proc/${String(pid)}/cmdline`, "utf8").replaceAll("\0", " ");
  } catch {
    return "";
  }
}

/** A process and all that it has started, directly or not. */
export function familyOf(pid: number): number[] {
  const all = readdirSync("/proc").flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []));
  const parents = new Map(all.map((child) => [child, Number(statusOf(child)?.get("PPid"))]));
  const family = [pid];
  for (const member of family) {
    for (const [child, parent] of parents) if (parent === member) family.push(child);
  }
  return family;
}

/** Whether it is gone, or dead and not buried. */
export function isGone(pid: number): boolean {
  const state = statusOf(pid)?.get("State");
  return state === undefined || state.startsWith("Z") || state.startsWith("X");
}
