import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "vitest";
import { IgnoreRules } from "./_ignore_rules.ts";
import { git, inFolder, temporaryFolder, write } from "./_testing.ts";
import { mkdirSync } from "node:fs";

const names = ["a", "b", "ab", "foo", "foo.txt", "b c", "[x]", "x", "é", "#h", "!n", "a*"].map((name) =>
  Buffer.from(name).toString("latin1"),
);
const piece = fc.constantFrom(
  ...[
    "a",
    "b",
    "foo",
    "*",
    "**",
    "?",
    "*.txt",
    "fo*",
    "[ab]",
    "[!a]",
    "[a-f]*",
    "é",
    "?é",
    "\\#h",
    "\\!n",
    "a\\*",
    "\\[x]",
    "b\\ c",
    "b c",
    "x",
  ],
);
const pattern = fc
  .record({
    negate: fc.boolean(),
    anchored: fc.boolean(),
    pieces: fc.array(piece, { minLength: 1, maxLength: 3 }),
    folder: fc.boolean(),
    end: fc.constantFrom("", "", "", " ", "\r", "\\ ", "\t"),
  })
  .map(({ negate, anchored, pieces, folder, end }) =>
    [negate ? "!" : "", anchored ? "/" : "", pieces.join("/"), folder ? "/" : "", end].join(""),
  );
const line = fc.oneof(
  { weight: 8, arbitrary: pattern },
  fc.constantFrom("", "# comment", "/", "!", "  ", "#h", "//", "\\"),
);
const rules = fc.array(line, { maxLength: 5 }).map((lines) => lines.join("\n"));

/** A tree of folders, each with some files and perhaps rules. */
interface Tree {
  readonly files: readonly string[];
  readonly rules: string | undefined;
  readonly folders: Readonly<Record<string, Tree>>;
}

const { tree } = fc.letrec<{ tree: Tree }>((tie) => ({
  tree: fc.record({
    files: fc.uniqueArray(fc.constantFrom(...names), { maxLength: 4 }),
    rules: fc.option(rules, { nil: undefined }),
    folders: fc.oneof(
      { depthSize: "small" },
      fc.constant({}),
      fc.dictionary(fc.constantFrom(...names), tie("tree"), { maxKeys: 3 }),
    ),
  }),
}));

/** Makes the tree, and collects what our rules ignore; nothing below an ignored folder is asked for. */
function build(root: string, at: string, { files, rules: content, folders }: Tree): void {
  mkdirSync(inFolder(root, at), { recursive: true });
  const prefix = at === "" ? "" : `${at}/`;
  for (const file of files) if (!(file in folders)) write(root, { [prefix + file]: "" });
  if (content !== undefined) write(root, { [`${prefix}.gitignore`]: content });
  for (const [name, inner] of Object.entries(folders)) build(root, prefix + name, inner);
}

function ours(
  at: string,
  { files, rules: content, folders }: Tree,
  ignored: IgnoreRules,
  found: Map<string, boolean>,
): void {
  if (content !== undefined) ignored.learn(at, Buffer.from(content));
  const prefix = at === "" ? "" : `${at}/`;
  for (const file of files)
    if (!(file in folders)) found.set(prefix + file, ignored.ignores(at, file, false));
  for (const [name, inner] of Object.entries(folders)) {
    const isIgnored = ignored.ignores(at, name, true);
    found.set(prefix + name, isIgnored);
    if (!isIgnored) ours(prefix + name, inner, ignored, found);
  }
}

test("IgnoreRules decides as git check-ignore does, at every level", { timeout: 120_000 }, () => {
  const repository = temporaryFolder();
  git(repository, ["init", "-q"]);
  fc.assert(
    fc.property(tree, (generated) => {
      const root = temporaryFolder();
      build(root, "", generated);
      const found = new Map<string, boolean>();
      ours("", generated, new IgnoreRules(), found);
      if (found.size === 0) return;
      const asked = Buffer.from([...found.keys()].map((path) => `${path}\0`).join(""), "latin1");
      const { status, out, err } = git(
        root,
        [
          "--git-dir",
          `${repository}/.git`,
          "--work-tree",
          root,
          "check-ignore",
          "--no-index",
          "-z",
          "--stdin",
        ],
        asked,
      );
      assert.ok(status === 0 || status === 1, err);
      const theirs = out.split("\0").filter(Boolean);
      assert.deepEqual(
        [...found]
          .filter(([, is]) => is)
          .map(([path]) => path)
          .sort(),
        theirs.sort(),
      );
    }),
    { numRuns: 200 },
  );
});
