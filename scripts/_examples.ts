import { readFileSync, readdirSync } from "node:fs";
import path from "node:path";
import { UNFINISHED } from "./unfinished.mjs";

export const root: string = path.resolve(import.meta.dirname, "..");

/** A piece of TypeScript that documentation shows. */
export interface Example {
  /** Where it stands: `packages/wire/src/splice.ts:44`. */
  where: string;
  code: string;
  /** The words behind `ts` in the fence; `no-run` = types are checked, nothing is run. */
  info: string[];
}

/** The packages that are there for users. */
export function finishedPackages(): string[] {
  return readdirSync(path.join(root, "packages")).filter((name) => !UNFINISHED.includes(name));
}

/** Examples in the doc comments of every package, and in its README. */
export function packageExamples(): Example[] {
  return finishedPackages().flatMap((name) => {
    const folder = path.join(root, "packages", name);
    const sources = readdirSync(path.join(folder, "src"))
      .filter((file) => file.endsWith(".ts") && !file.endsWith("_test.ts"))
      .map((file) => path.join(folder, "src", file));
    return [...sources, path.join(folder, "README.md")].flatMap(examplesIn);
  });
}

/** The pages that stand beside README.md: docs/ and the threat model. */
export function pageExamples(): Example[] {
  const pages = readdirSync(path.join(root, "docs")).filter((file) => file.endsWith(".md"));
  return [...pages.map((file) => path.join("docs", file)), "THREAT_MODEL.md"].flatMap((file) =>
    examplesIn(path.join(root, file)),
  );
}

/**
 * The fenced `ts` blocks of a file; in source files those of doc comments, without their leading asterisks.
 *
 * @param file A `.ts` or `.md` file.
 */
export function examplesIn(file: string): Example[] {
  const text = readFileSync(file, "utf8");
  const fence = file.endsWith(".md") ? /^```ts(.*)\n([^]*?)^```$/gm : /^ *\* ```ts(.*)\n([^]*?)^ *\* ```$/gm;
  return [...text.matchAll(fence)].map(({ 0: _, 1: info, 2: body, index }) => ({
    where: `${path.relative(root, file)}:${String(text.slice(0, index).split("\n").length)}`,
    code: file.endsWith(".md") ? body! : body!.replaceAll(/^ *\* ?/gm, ""),
    info: info!.split(" ").filter(Boolean),
  }));
}
