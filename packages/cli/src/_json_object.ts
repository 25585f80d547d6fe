import type { JsonObject } from "@envport/wire";
import { isJsonObject } from "@envport/wire";
import { messageOf, usage } from "./_failure.ts";

/** The value of `--args`. */
export function parseArguments(text: string | undefined): JsonObject {
  if (text === undefined) return {};
  const example = `for example --args '{"n": 1}'`;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw usage(`Cannot use --args as it must be JSON (${messageOf(error)}): ${example}`);
  }
  if (isJsonObject(value)) return value;
  throw usage(`Cannot use --args as it must be a JSON object: current value is ${text}; ${example}`);
}
