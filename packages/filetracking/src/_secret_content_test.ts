import assert from "node:assert/strict";
import { test } from "vitest";
import { holdsSecret } from "./_secret_content.ts";

/** Put together here, so that no scanner takes this file for a leak. */
const SECRETS = [
  ["-----BEGIN ", "PRIVATE KEY-----"],
  ["-----BEGIN OPENSSH ", "PRIVATE KEY-----"],
  ["-----BEGIN PGP ", "PRIVATE KEY BLOCK-----"],
  ["AKIA", "IOSFODNN7EXAMPLE"],
  ["sk-", "proj-abcdefghijklmnopqrstuv"],
  ["ghp_", "0123456789abcdefghijABCDEFGHIJ012345"],
  ["github_pat_", "11ABCDEFG0123456789abcdef"],
  ["xoxb-", "123456789012-abcdef"],
  ["hf_", "abcdefghijklmnopqrstuvwxyzABCDEFGH"],
].map((parts) => parts.join(""));

test("holdsSecret() finds credentials in text, wherever they stand", () => {
  for (const secret of SECRETS) {
    assert.ok(holdsSecret(Buffer.from(`a = "${secret}"\n`)), secret);
    assert.ok(holdsSecret(Buffer.from(`\xff\x00${"x".repeat(1000)} ${secret}`, "latin1")), secret);
  }
});

test("holdsSecret() finds them where characters take two bytes", () => {
  for (const secret of SECRETS) assert.ok(holdsSecret(Buffer.from(`key: ${secret}`, "utf16le")), secret);
});

test("holdsSecret() does not take ordinary text for a credential", () => {
  const text = [
    "-----BEGIN CERTIFICATE-----",
    "-----BEGIN PUBLIC KEY-----",
    "task-management-for-large-projects-and-more",
    "sk-short",
    "AKIAlowercase",
    "https://example.com/ghp_",
  ];
  assert.ok(!holdsSecret(Buffer.from(text.join("\n"))));
});

test("holdsSecret() comes to an end on text that begins like credentials everywhere", () => {
  for (const piece of ["-----BEGIN ", "sk-a ", "A", "ghp_a", "\0"]) {
    assert.ok(!holdsSecret(Buffer.alloc(8 * 1024 * 1024, piece)), piece);
  }
});
