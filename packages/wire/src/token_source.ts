import { readFileSync } from "node:fs";

/**
 * Where an access token is (SESS-10): itself, a file that holds it, or a variable of the environment, which is removed
 * from `process.env` when it is read, so that no child inherits it.
 */
export type TokenSource = string | { readonly file: string } | { readonly env: string };

/**
 * Reads an access token; one line end behind it is not part of it.
 *
 * @param source Where it is.
 * @throws {TypeError} If it is empty, or cannot be read. The message never shows a token.
 *
 * @example
 * ```ts
 * import { readToken } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * process.env["CONTROL_TOKEN"] = "c2VjcmV0";
 * assert.equal(readToken({ env: "CONTROL_TOKEN" }), "c2VjcmV0");
 * assert.equal(process.env["CONTROL_TOKEN"], undefined);
 * ```
 */
export function readToken(source: TokenSource): string {
  const [token, where] = read(source);
  const text = token.replace(/\r?\n$/, "");
  if (text.trim() !== "") return text;
  throw new TypeError(`Cannot use the access token as it must not be empty: current value is ${where}`);
}

function read(source: TokenSource): [token: string, where: string] {
  if (typeof source === "string") return [source, '""'];
  if ("env" in source) {
    const value = process.env[source.env];
    delete process.env[source.env];
    return [value ?? "", `that of the variable ${source.env}`];
  }
  try {
    return [readFileSync(source.file, "utf8"), `that of the file ${source.file}`];
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    throw new TypeError(
      `Cannot use the access token as the file ${source.file} must be readable: ${reason}`,
      {
        cause: error,
      },
    );
  }
}
