import type { TaskInfo } from "@envport/client";
import type { JsonObject } from "@envport/wire";
import { isJsonObject, own } from "@envport/wire";

/** One argument of a task. */
interface ArgumentInfo {
  name: string;
  type: string;
  required: boolean;
  fallback: string | undefined;
  description: string;
}

/** A task's arguments in one line: `{a: number, b?: number = 1}`. */
export function argumentsInLine(task: TaskInfo): string {
  const shown = argumentsOf(task.args).map(
    ({ name, type, required, fallback }) =>
      `${name}${required ? "" : "?"}: ${type}${fallback === undefined ? "" : ` = ${fallback}`}`,
  );
  return shown.length === 0 ? "" : `{${shown.join(", ")}}`;
}

/** A task's arguments, a line each, in columns. */
export function argumentLines(task: TaskInfo): string[] {
  const rows = argumentsOf(task.args).map(({ name, type, required, fallback, description }) => [
    name,
    type,
    `${required ? "required" : fallback === undefined ? "optional" : `default ${fallback}`}${description === "" ? "" : `  ${description}`}`,
  ]);
  return columns(rows);
}

/** Lines of text in columns. */
export function columns(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, index) => Math.max(...rows.map((row) => row[index]!.length)));
  return rows.map((row) =>
    row
      .map((cell, index) => cell.padEnd(widths[index]!))
      .join("  ")
      .trimEnd(),
  );
}

function argumentsOf(schema: JsonObject): ArgumentInfo[] {
  const properties = own(schema, "properties");
  if (!isJsonObject(properties)) return [];
  const required = own(schema, "required");
  return Object.entries(properties).map(([name, value]) => {
    const property = isJsonObject(value) ? value : {};
    const description = own(property, "description");
    return {
      name,
      type: typeOf(property),
      required: Array.isArray(required) && required.includes(name),
      fallback: Object.hasOwn(property, "default") ? JSON.stringify(property["default"]) : undefined,
      description: typeof description === "string" ? description : "",
    };
  });
}

/** As TypeScript would write it. */
function typeOf(schema: JsonObject): string {
  if (Object.hasOwn(schema, "const")) return JSON.stringify(schema["const"]);
  const [choices, type, items] = [own(schema, "enum"), own(schema, "type"), own(schema, "items")];
  if (Array.isArray(choices)) return choices.map((choice) => JSON.stringify(choice)).join(" | ");
  const union = own(schema, "anyOf") ?? own(schema, "oneOf");
  if (Array.isArray(union)) return union.map((one) => (isJsonObject(one) ? typeOf(one) : "any")).join(" | ");
  if (Array.isArray(type)) return type.join(" | ");
  if (type === "array" && isJsonObject(items)) {
    const item = typeOf(items);
    return item.includes(" ") ? `(${item})[]` : `${item}[]`;
  }
  return typeof type === "string" ? type : "any";
}
