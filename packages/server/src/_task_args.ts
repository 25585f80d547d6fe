import type { JsonObject } from "@envport/wire";
import { ErrorCode, ProtocolError, isJsonObject, own } from "@envport/wire";
import type { Issue } from "./_schema.ts";
import { jsonSchema, knownKeys, validate } from "./_schema.ts";
import type { Schema } from "./schema.ts";

/** The arguments of a template: what is published, and what becomes of what a client sends (TASK-1, TASK-3). */
export class TaskArgs {
  /** The object schema that `tasks.list` publishes. */
  readonly published: JsonObject;
  readonly #schema: Schema | undefined;
  readonly #known: Set<string> | undefined;

  /**
   * @param schema The author's schema, or undefined for a task without arguments.
   * @param what What errors call it.
   * @throws {TypeError} If the schema cannot be published, or describes anything but objects.
   */
  constructor(schema: Schema | undefined, what: string) {
    this.#schema = schema;
    const described = schema ? jsonSchema(schema, what) : { type: "object", properties: {} };
    const type = described["type"] ?? "object";
    if (type !== "object") {
      throw new TypeError(
        `Cannot use ${what} as it must describe an object: current type is ${JSON.stringify(type)}`,
      );
    }
    const known = knownKeys(described);
    const properties = described["properties"];
    // Names that stand in a part of an intersection would be refused by `additionalProperties` of the whole.
    const closed =
      known && isJsonObject(properties) && [...known].every((key) => Object.hasOwn(properties, key));
    this.#known = known;
    this.published = { ...described, type, ...(closed ? { additionalProperties: false } : {}) };
  }

  /**
   * Validates arguments and gives them their defaults and types. A string where another type is wanted is parsed as
   * JSON and tried again.
   *
   * @param args What the client sent.
   * @param taskId What the error calls the task.
   * @throws {ProtocolError} If they do not validate, or one has an unknown name (-32602 `invalid-args`).
   */
  async parse(args: JsonObject, taskId: string): Promise<unknown> {
    const unknown = this.#known ? Object.keys(args).filter((key) => !this.#known!.has(key)) : [];
    if (unknown.length > 0) {
      throw invalid(
        taskId,
        unknown.map((key) => ({ path: [key], message: `unknown argument; known are ${this.#listKnown()}` })),
      );
    }
    if (!this.#schema) return {};
    return await parseTolerantly(this.#schema, args, taskId);
  }

  #listKnown(): string {
    return [...this.#known!].map((key) => `'${key}'`).join(", ") || "none";
  }
}

/** Validates; each string that is refused is read as JSON once, then all is validated again. */
async function parseTolerantly(schema: Schema, args: JsonObject, taskId: string): Promise<unknown> {
  const tried = new Map<string, Issue>();
  let current: unknown = args;
  for (;;) {
    const result = await validate(schema, current);
    if (!result.issues) return result.value;
    const fresh = result.issues.filter((issue) => !tried.has(JSON.stringify(issue.path)));
    let changed = false;
    for (const issue of fresh) {
      tried.set(JSON.stringify(issue.path), issue);
      const parsed = parseAt(current, issue.path);
      if (parsed === undefined) continue;
      current = replaceAt(current, issue.path, parsed);
      changed = true;
    }
    if (!changed) {
      throw invalid(
        taskId,
        result.issues.map((issue) => tried.get(JSON.stringify(issue.path)) ?? issue),
      );
    }
  }
}

/** The JSON value written in the string at a path; undefined if there is no such string. */
function parseAt(value: unknown, path: Issue["path"]): unknown {
  const text = path.reduce<unknown>(
    (node, key) =>
      typeof node === "object" && node !== null && Object.hasOwn(node, key)
        ? (node as never)[key]
        : undefined,
    value,
  );
  if (typeof text !== "string" || path.length === 0) return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** A copy of a value with one place changed. */
function replaceAt(value: unknown, path: Issue["path"], replacement: unknown): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return replacement;
  const copy = (
    Array.isArray(value) ? [...(value as unknown[])] : { ...(value as JsonObject) }
  ) as JsonObject;
  // An assignment to `__proto__` would change the prototype (FRAME-10).
  Object.defineProperty(copy, key, { ...PLAIN, value: replaceAt(own(copy, String(key)), rest, replacement) });
  return copy;
}

const PLAIN = { configurable: true, enumerable: true, writable: true } as const;

function invalid(taskId: string, issues: Issue[]): ProtocolError {
  const text = issues.map(({ path, message }) => `${path.join(".") || "args"}: ${message}`).join("; ");
  return new ProtocolError(ErrorCode.invalidParams, `task '${taskId}': invalid args: ${text}`, {
    type: "invalid-args",
    issues,
  });
}
