import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline/promises";
import type { Command } from "../_command.ts";
import { messageOf, usage } from "../_failure.ts";
import { mergeManifest } from "../_init/merge_manifest.ts";
import { GITIGNORE, firstTask, manifestParts, sourceFiles } from "../_init/project_files.ts";
import type { Template } from "../_init/template.ts";
import { DEFAULT_TEMPLATES, TEMPLATES } from "../_init/templates.ts";
import { suggestion } from "../_nearest.ts";
import { hasTerminal } from "../_terminal.ts";
import { version } from "../_version.ts";

const NAMES = TEMPLATES.map(({ name }) => name);

/** `envport init` */
export const initCommand: Command = {
  path: "init",
  summary: "Make a new environment, with a task, an agent and tests",
  details:
    "Writes env.ts, agent.ts, env.test.ts, tsconfig.json, .gitignore and package.json. A package.json that is there gets what it lacks; of the other files none is replaced without --force.",
  arguments: [
    { name: "folder", optional: true, files: "folder", summary: "Where; it is made if need be [.]" },
  ],
  options: [
    {
      name: "with",
      value: "names",
      words: NAMES,
      summary: `Its capabilities, with commas: ${NAMES.join(", ")} [asked for, or ${DEFAULT_TEMPLATES.join(",")}]`,
    },
    { name: "name", value: "name", summary: "The environment's name [the folder's]" },
    { name: "force", summary: "Replace files that are there" },
  ],
  examples: [
    ["init my-env", "A new folder; asks for the capabilities"],
    ["init my-env --with ssh,filetracking", "Without a question"],
    ["init --with mcp,cdp,rfb", "In this folder: tools, a browser, a desktop"],
    ["init --with none", "In this folder; questions and answers only"],
  ],
  async run(invocation, { output, signal }) {
    const shown = invocation.optionalArgument("folder") ?? ".";
    const folder = path.resolve(shown);
    const isForced = invocation.flag("force");
    const words = invocation.option("with") ?? (output.json ? undefined : await ask(signal));
    const templates = choose(words ?? DEFAULT_TEMPLATES.join(","));
    const name = toName(invocation.option("name") ?? path.basename(folder));
    const files = writeProject(folder, shown, { name, templates, isForced });
    const steps = nextSteps(folder, templates);
    output.result(
      `Made ${name} in ${shown}: ${files.join(", ")}\n\nNext:\n${steps.map((step) => `  ${step}`).join("\n")}`,
      { folder, name, capabilities: templates.map((one) => one.name), files, next: steps },
    );
    return 0;
  },
};

/** The answer of a person, or undefined where there is none to ask. */
async function ask(signal: AbortSignal): Promise<string | undefined> {
  if (!hasTerminal()) return undefined;
  const width = Math.max(...NAMES.map(({ length }) => length));
  for (const { name, summary } of TEMPLATES) process.stdout.write(`  ${name.padEnd(width)}  ${summary}\n`);
  const readline = createInterface({ input: process.stdin, output: process.stdout });
  readline.once("SIGINT", () => process.kill(process.pid, "SIGINT"));
  try {
    const answer = await readline.question(`Capabilities, with commas [${DEFAULT_TEMPLATES.join(",")}]: `, {
      signal,
    });
    return answer.trim() === "" ? undefined : answer;
  } finally {
    readline.close();
  }
}

/** The templates of a list of names, and those that they need. */
function choose(words: string): Template[] {
  const chosen = new Set<string>();
  for (const word of words.split(/[\s,]+/).filter((one) => one !== "")) {
    const template = TEMPLATES.find(({ name }) => name === word);
    if (!template) {
      throw usage(
        `Cannot make an environment with '${word}' as there is ${NAMES.join(", ")}${suggestion(word, NAMES)}`,
      );
    }
    for (const name of [...template.needs, word]) chosen.add(name);
  }
  if (chosen.size === 0)
    throw usage(`Cannot make an environment with nothing: choose of ${NAMES.join(", ")}`);
  return TEMPLATES.filter(({ name }) => chosen.has(name));
}

/** As npm wants a name. */
function toName(text: string): string {
  return (
    text
      .toLowerCase()
      .replaceAll(/[^a-z0-9._-]+/g, "-")
      .replace(/^[._-]+|-+$/g, "") || "my-env"
  );
}

function writeProject(
  folder: string,
  shown: string,
  { name, templates, isForced }: { name: string; templates: readonly Template[]; isForced: boolean },
): string[] {
  const sources = sourceFiles(name, templates);
  const taken = Object.keys(sources).filter((file) => existsSync(path.join(folder, file)));
  if (taken.length > 0 && !isForced) {
    throw usage(
      `Cannot make an environment in ${JSON.stringify(shown)} as it has ${taken.join(", ")}: choose another folder, or say --force to replace`,
    );
  }
  const manifest = path.join(folder, "package.json");
  const before = existsSync(manifest) ? readFileSync(manifest, "utf8") : undefined;
  const files: Record<string, string> = {
    "package.json": mergeManifest(before, name, manifestParts(templates, version())),
    ...sources,
    ...(existsSync(path.join(folder, ".gitignore")) ? {} : { ".gitignore": GITIGNORE }),
  };
  try {
    mkdirSync(folder, { recursive: true });
    for (const [file, text] of Object.entries(files)) writeFileSync(path.join(folder, file), text);
  } catch (error) {
    throw usage(
      `Cannot write into ${JSON.stringify(shown)}: ${(error as NodeJS.ErrnoException).code ?? messageOf(error)}`,
    );
  }
  return Object.keys(files);
}

function nextSteps(folder: string, templates: readonly Template[]): string[] {
  const where = path.relative(process.cwd(), folder);
  const programs = [...new Set(templates.flatMap((template) => template.programs ?? []))];
  return [
    ...(where === "" ? [] : [`cd ${/^[\w@%+=:,./-]+$/.test(where) ? where : `'${where}'`}`]),
    ...(programs.length > 0
      ? [`sudo apt-get install ${programs.join(" ")}     # unless they are there`]
      : []),
    "npm install",
    "npm test          # the agent scores 1, one that does nothing scores 0",
    `npm start         # one episode of ${firstTask(templates)}`,
    "npm run serve     # on port 8765; then, elsewhere: npx envport connect",
  ];
}
