import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, test } from "vitest";
import { readToken } from "./token_source.ts";

const folder = mkdtempSync(join(tmpdir(), "envport-test-"));
afterAll(() => rmSync(folder, { recursive: true }));

function file(text: string): { file: string } {
  const name = join(folder, String(Math.random()));
  writeFileSync(name, text);
  return { file: name };
}

test("SESS-10: a token is itself, a file's content without its line end, or a variable that is taken away", () => {
  assert.equal(readToken("secret"), "secret");
  assert.equal(readToken(file("secret\n")), "secret");
  assert.equal(readToken(file(" two words ")), " two words ");
  process.env["TOKEN_SOURCE_TEST"] = "secret";
  assert.equal(readToken({ env: "TOKEN_SOURCE_TEST" }), "secret");
  assert.equal(process.env["TOKEN_SOURCE_TEST"], undefined);
});

test("SESS-10: an empty token is refused, and so is one that cannot be read", () => {
  for (const source of ["", " ", file("\n"), { env: "NO_SUCH_VARIABLE" }]) {
    assert.throws(() => readToken(source), /must not be empty/);
  }
  assert.throws(() => readToken({ file: join(folder, "missing") }), /missing must be readable: ENOENT/);
});
