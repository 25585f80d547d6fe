import type { JsonObject } from "@envport/wire";
import type { TrackerOptions } from "./_tracker.ts";

/** What the thread of a tracker is started with. */
export interface WorkerData {
  readonly root: string;
  readonly options: TrackerOptions;
}

/** What the thread can be asked for: the methods of the wire, and where to serve them. */
export type WorkerMethod = "start" | "setup" | "advance" | "diff" | "snapshot" | "flush" | "listen" | "close";

/** To the thread. */
export type WorkerRequest =
  | { readonly id: number; readonly method: WorkerMethod; readonly params: JsonObject }
  /** The next page of a result. */
  | { readonly id: number; readonly next: true }
  /** The result is complete, or nobody waits for it any more. */
  | { readonly id: number; readonly arrived: boolean };

/** From the thread. */
export type WorkerReply =
  | { readonly id: number; readonly page: Page; readonly more: boolean }
  | { readonly id: number; readonly error: { readonly message: string; readonly code?: string | undefined } }
  | { readonly log: string; readonly error: string };

/** A part of a result that is small enough to be taken over without a pause. */
export interface Page {
  /** Where the items belong: `["diff", "patches"]`. */
  readonly at: readonly string[];
  /** Items of the array there; or the result itself, its arrays empty. */
  readonly items: readonly unknown[];
}

const PAGE_ITEMS = 500;
const PAGE_CHARACTERS = 512 * 1024;

/**
 * Cuts a result into pages, so that a large one does not stop the thread that receives it.
 *
 * @param result Its arrays are members of it, or of its members.
 */
export function* toPages(result: JsonObject): Generator<Page> {
  yield { at: [], items: [withoutItems(result)] };
  yield* arraysOf(result, []);
}

/** Puts a page into its place. */
export function addPage(result: JsonObject | undefined, { at, items }: Page): JsonObject {
  if (!result) return items[0] as JsonObject;
  const array = at.reduce<unknown>((value, key) => (value as JsonObject)[key], result) as unknown[];
  array.push(...items);
  return result;
}

function withoutItems(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([key, member]) => [
      key,
      Array.isArray(member) ? [] : isObject(member) ? withoutItems(member) : member,
    ]),
  );
}

function* arraysOf(value: JsonObject, at: readonly string[]): Generator<Page> {
  for (const [key, member] of Object.entries(value)) {
    if (Array.isArray(member)) yield* slices(member, [...at, key]);
    else if (isObject(member)) yield* arraysOf(member, [...at, key]);
  }
}

function* slices(array: readonly unknown[], at: readonly string[]): Generator<Page> {
  let from = 0;
  let weight = 0;
  for (let to = 0; to < array.length; to++) {
    weight += weightOf(array[to]);
    if (to - from + 1 < PAGE_ITEMS && weight < PAGE_CHARACTERS && to + 1 < array.length) continue;
    yield { at, items: array.slice(from, to + 1) };
    from = to + 1;
    weight = 0;
  }
}

/** Characters of a value's texts. */
function weightOf(value: unknown): number {
  if (typeof value === "string") return value.length;
  return isObject(value)
    ? Object.values(value).reduce<number>((sum, member) => sum + weightOf(member), 0)
    : 0;
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
