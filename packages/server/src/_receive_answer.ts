import type { JsonObject } from "@envport/wire";
import { own } from "@envport/wire";
import { validate } from "./_schema.ts";
import type { Answer } from "./answer.ts";
import type { Schema } from "./schema.ts";

/**
 * Makes what a task receives out of the params of `tasks.grade` (TASK-4).
 *
 * @param returns The declared schema of the answer, if there is one.
 * @param params The params of `tasks.grade`.
 */
export async function receiveAnswer(returns: Schema | undefined, params: JsonObject): Promise<unknown> {
  const sent = own(params, "answer");
  if (!returns) return sent;
  if (sent === undefined) return { content: "", raw: "" } satisfies Answer<never>;
  const raw = typeof sent === "string" ? sent : JSON.stringify(sent);
  const value = typeof sent === "string" ? parse(sent) : sent;
  const content = value === undefined ? raw : await validatedOr(raw, returns, value);
  return { content, raw } satisfies Answer<unknown>;
}

/** The validated value; `raw` where it does not validate, or makes the schema's own code throw. */
async function validatedOr(raw: string, schema: Schema, value: unknown): Promise<unknown> {
  try {
    const result = await validate(schema, value);
    return result.issues ? raw : result.value;
  } catch {
    return raw;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
