import { constants } from "node:os";
import type { Readable } from "node:stream";

/** What the spawn server says; see `_agent.cjs`. Every field has been checked. */
export type Report =
  | { readonly op: "ready" }
  | { readonly op: "slots"; readonly slots: readonly (readonly [number, number, number, number])[] }
  | { readonly op: "started"; readonly id: number; readonly pid: number }
  | { readonly op: "failed"; readonly id: number; readonly code: string; readonly error: string }
  | {
      readonly op: "exit";
      readonly id: number | string;
      readonly code: number | null;
      readonly signal: NodeJS.Signals | null;
    }
  | { readonly op: "incoming"; readonly id: number; readonly name: string }
  | { readonly op: "listening"; readonly name: string }
  | { readonly op: "unlistened"; readonly name: string; readonly error: string };

/** The longest report: 32 slots, or an error's text. */
export const MAX_REPORT_BYTES = 65_536;
const MAX_TEXT = 1024;
/** At most about 20,000 reports a second; starting 1,000 processes a second takes 2,100. */
const LINES_BETWEEN_RESTS = 1000;
const REST_MS = 50;

/**
 * Reads reports, one JSON object a line, and hands on those that make sense. It takes a bounded number of lines in a
 * time, so that a flood costs the host little.
 *
 * @param onViolation Called once if a line is too long or no JSON object: whoever writes is no spawn server of ours.
 */
export function readReports(
  stream: Readable,
  onReport: (report: Report) => void,
  onViolation: () => void,
): void {
  let partial = "";
  let broken = false;
  let taken = 0;
  const rest = (): void => {
    taken = 0;
    stream.pause();
    setTimeout(() => stream.resume(), REST_MS);
  };
  stream.setEncoding("utf8").on("data", (text: string) => {
    if (broken) return;
    const lines = (partial + text).split("\n");
    partial = lines.pop()!;
    broken = [...lines, partial].some((line) => line.length > MAX_REPORT_BYTES);
    for (const line of broken ? [] : lines) {
      const report = parseReport(line);
      broken = report === undefined;
      if (broken) break;
      if (report !== undefined && report !== "nonsense") onReport(report);
    }
    taken += lines.length;
    if (broken) onViolation();
    else if (taken > LINES_BETWEEN_RESTS) rest();
  });
}

/** Undefined for what is no JSON object, `nonsense` for an object that is no report. */
export function parseReport(line: string): Report | "nonsense" | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  return checkReport(value as Record<string, unknown>) ?? "nonsense";
}

const isIndex = (value: unknown): value is number => Number.isSafeInteger(value) && (value as number) >= 0;
const text = (value: unknown): string => (typeof value === "string" ? value.slice(0, MAX_TEXT) : "");

function checkReport({ op, id, name, ...rest }: Record<string, unknown>): Report | undefined {
  switch (op) {
    case "ready":
      return { op };
    case "slots": {
      const isSlot = (slot: unknown): slot is [number, number, number, number] =>
        Array.isArray(slot) && slot.length === 4 && slot.every(isIndex);
      return Array.isArray(rest.slots) && rest.slots.length <= 64 && rest.slots.every(isSlot)
        ? { op, slots: rest.slots }
        : undefined;
    }
    case "started":
      return isIndex(id) && isIndex(rest.pid) ? { op, id, pid: rest.pid } : undefined;
    case "failed":
      return isIndex(id) ? { op, id, code: text(rest.code), error: text(rest.error) } : undefined;
    case "exit":
      return isIndex(id) || (typeof id === "string" && /^in\d{1,15}$/.test(id))
        ? { op, id, ...exitOf(rest) }
        : undefined;
    case "incoming":
      return isIndex(id) && typeof name === "string" ? { op, id, name: text(name) } : undefined;
    case "listening":
      return typeof name === "string" ? { op, name: text(name) } : undefined;
    case "unlistened":
      return typeof name === "string" ? { op, name: text(name), error: text(rest.error) } : undefined;
    default:
      return undefined;
  }
}

/** A code from 0 to 255, or a signal that exists; anything else counts as killed. */
function exitOf({ code, signal }: Record<string, unknown>): {
  code: number | null;
  signal: NodeJS.Signals | null;
} {
  if (isIndex(code) && code <= 255) return { code, signal: null };
  const known = typeof signal === "string" && Object.hasOwn(constants.signals, signal);
  return { code: null, signal: known ? (signal as NodeJS.Signals) : "SIGKILL" };
}
