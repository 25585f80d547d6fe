import assert from "node:assert/strict";
import { test } from "vitest";
import { NameRules } from "./_name_rules.ts";

const rules = new NameRules();

test("NameRules leaves out version control, caches and what compilers make", () => {
  for (const name of [
    ".git",
    ".hg",
    ".svn",
    ".jj",
    "node_modules",
    "__pycache__",
    ".venv",
    ".cache",
    ".next",
  ]) {
    assert.ok(rules.excludes("src", name, true), name);
  }
  for (const name of [".git", "x.pyc", "lib.so", "main.o", "A.class", "a.exe"]) {
    assert.ok(rules.excludes("", name, false), name);
  }
  for (const name of ["node_modules", "git", "src", "x.py", "so", "dist", ".gitignore"]) {
    assert.ok(!rules.excludes("", name, false), name);
  }
});

test("NameRules knows credentials by their names, in any case", () => {
  const secrets = [
    ...[
      ".env",
      ".env.local",
      ".envrc",
      "server.pem",
      "id_rsa",
      "id_ed25519.pub",
      "api_key",
      "API_KEY.txt",
      "my_keys.json",
    ],
    ...[
      "credentials",
      "credentials.json",
      ".netrc",
      ".git-credentials",
      ".npmrc",
      "TLS.KEY",
      "store.p12",
      "Id_Rsa",
    ],
  ];
  for (const name of secrets) assert.ok(rules.isSecret("", name, false), name);
  for (const name of ["env", "key.ts", "monkey.py", "identity.ts", "pem", "README.md", ".gitignore"]) {
    assert.ok(!rules.isSecret("", name, false), name);
  }
});

test("NameRules takes every file of a credential folder for a secret", () => {
  for (const name of [".ssh", ".aws", ".gnupg", ".kube", ".env.d", "credentials"]) {
    assert.ok(rules.isSecret("home", name, true), name);
  }
  assert.ok(!rules.isSecret("", "id_generator", true));
});

test("NameRules takes further patterns, which cannot take the usual ones away", () => {
  const more = new NameRules({ exclude: ["/out/", "*.tmp"], secrets: ["vault/", "!.env", "*.Secret"] });
  assert.ok(more.excludes("", "out", true));
  assert.ok(!more.excludes("src", "out", true));
  assert.ok(more.excludes("src", "x.tmp", false));
  assert.ok(more.isSecret("a", "vault", true));
  assert.ok(more.isSecret("a", "x.secret", false));
  assert.ok(more.isSecret("", ".env", false));
});
