import type { JsonObject } from "@envport/wire";
import { isJsonObject } from "@envport/wire";
import type { Schema } from "./schema.ts";

/** One reason why a value does not validate, and where. */
export interface Issue {
  /** Keys and indices from the outside in. */
  path: (string | number)[];
  message: string;
}

/** What validation says. */
export type Validated = { value: unknown; issues?: undefined } | { issues: Issue[] };

/**
 * Validates a value.
 *
 * @param schema The schema.
 * @param value Anything.
 */
export async function validate(schema: Schema, value: unknown): Promise<Validated> {
  const result = await schema["~standard"].validate(value);
  if (!result.issues) return { value: result.value };
  return {
    issues: result.issues.map(({ message, path = [] }) => ({
      message,
      // Not `map`: a path may be of a class of its own.
      path: Array.from(path, (part) => pathKey(typeof part === "object" ? part.key : part)),
    })),
  };
}

function pathKey(key: PropertyKey): string | number {
  return typeof key === "symbol" ? key.toString() : key;
}

/**
 * The JSON Schema of what a schema accepts: its input side, in which a defaulted key is not required (TASK-1).
 *
 * @param schema The schema.
 * @param what What it describes, for the error.
 * @throws {TypeError} If the library cannot express the schema, or is none that can.
 */
export function jsonSchema(schema: Schema, what: string): JsonObject {
  const standard = schema["~standard"] as Partial<Schema["~standard"]> | undefined;
  if (typeof standard?.validate !== "function" || typeof standard.jsonSchema?.input !== "function") {
    throw new TypeError(
      `Cannot use ${what} as it must be a Standard Schema with JSON Schema (zod 4.2 or newer, arktype, valibot through its adapter)`,
    );
  }
  try {
    const { $schema, ...rest } = standard.jsonSchema.input({ target: "draft-2020-12" });
    return rest;
  } catch (error) {
    throw new TypeError(`Cannot express ${what} as JSON Schema: ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/**
 * The names that an object schema knows.
 *
 * @param schema A JSON Schema, for example from {@linkcode jsonSchema}.
 * @returns The property names, or undefined if it accepts others too.
 */
export function knownKeys(schema: JsonObject): Set<string> | undefined {
  const keys = new Set<string>();
  return collectKeys(schema, schema, keys, new Set()) ? keys : undefined;
}

/** Adds the names of one schema; false if it is open to any name. */
function collectKeys(schema: unknown, root: JsonObject, keys: Set<string>, seen: Set<unknown>): boolean {
  if (!isJsonObject(schema)) return false;
  if (seen.has(schema)) return true;
  seen.add(schema);
  const additional = schema["additionalProperties"];
  if ((additional !== undefined && additional !== false) || schema["patternProperties"] !== undefined)
    return false;
  const properties = schema["properties"];
  if (isJsonObject(properties)) for (const key of Object.keys(properties)) keys.add(key);
  const parts = ["allOf", "anyOf", "oneOf"].flatMap(
    (keyword) => (schema[keyword] as unknown[] | undefined) ?? [],
  );
  if (typeof schema["$ref"] === "string") parts.push(resolve(schema["$ref"], root));
  if (parts.length === 0) return isJsonObject(properties) || additional === false;
  return parts.map((part) => collectKeys(part, root, keys, seen)).every(Boolean);
}

/** Follows a local reference such as `#/$defs/Args`. */
function resolve(reference: string, root: JsonObject): unknown {
  const steps = reference.startsWith("#/") ? reference.slice(2).split("/") : [];
  return steps.reduce<unknown>(
    (node, step) => (isJsonObject(node) ? node[step.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined),
    root,
  );
}
