import path from "node:path";

/**
 * Where in a user's own code an error comes from: `env.ts:13`, the first line of its stack below a folder.
 *
 * @param error What was thrown.
 * @param folder The user's.
 */
export function placeOf(error: unknown, folder: string): string | undefined {
  if (!(error instanceof Error)) return undefined;
  for (const [, file = "", line = ""] of (error.stack ?? "").matchAll(FRAME_REGEXP)) {
    const isOwn = file.startsWith(`${folder}/`) && !file.includes("/node_modules/");
    if (isOwn) return `${path.relative(process.cwd(), file)}:${line}`;
  }
  return undefined;
}

const FRAME_REGEXP = /\(?(?:file:\/\/)?(\/[^\n()?]+?)(?:\?[^:\n]*)?:(\d+):\d+\)?$/gm;

/** A message, and its place if that is known and not in it already. */
export function withPlace(message: string, error: unknown, folder: string): string {
  const place = placeOf(error, folder);
  const isTold = place === undefined || message.includes(place.replace(/:\d+$/, ""));
  return isTold ? message : `${message} (${place})`;
}
