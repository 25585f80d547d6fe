import type { Part, Template } from "./template.ts";

/** The versions that a new folder asks for besides envport's own; a test holds them to the catalog. */
export const TOOL_VERSIONS: Readonly<Record<string, string>> = {
  "@types/node": "^20.19.0",
  tsx: "^4.23.15",
  typescript: "~6.0.3",
};

/** What a package.json needs to have for the files to run. */
export interface ManifestParts {
  readonly type: "module";
  readonly scripts: Readonly<Record<string, string>>;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
}

/**
 * The manifest's parts.
 *
 * @param templates What was chosen.
 * @param version The version of envport's packages.
 */
export function manifestParts(templates: readonly Template[], version: string): ManifestParts {
  const packages = ["client", "server", ...templates.flatMap((template) => template.packages)];
  const range = `^${version}`;
  const named = [...new Set(packages)].sort().map((name) => [`@envport/${name}`, range] as const);
  const libraries = templates.flatMap((template) => Object.entries(template.libraries ?? {}));
  return {
    type: "module",
    scripts: {
      start: `envport run ${firstTask(templates)} --source env.ts --agent agent.ts`,
      serve: "envport serve env.ts --watch",
      test: "node --import tsx --test env.test.ts",
      typecheck: "tsc",
    },
    dependencies: Object.fromEntries([...named, ...libraries]),
    devDependencies: { "@envport/cli": range, ...TOOL_VERSIONS },
  };
}

/** The task that `npm start` runs. */
export function firstTask(templates: readonly Template[]): string {
  return templates.flatMap(({ agent }) => agent?.task ?? [])[0]!;
}

/** Every other file, by name. */
export function sourceFiles(name: string, templates: readonly Template[]): Record<string, string> {
  return {
    "env.ts": environmentFile(name, templates),
    "agent.ts": agentFile(templates),
    "env.test.ts": testFile(templates),
    "tsconfig.json": TSCONFIG,
  };
}

export const GITIGNORE = "node_modules/\nworkspace/\n";

const TSCONFIG = `{
  "compilerOptions": {
    "target": "es2023",
    "lib": ["es2023", "esnext.disposable"],
    "module": "nodenext",
    "types": ["node"],
    "strict": true,
    "noEmit": true,
    "skipLibCheck": true,
    "allowImportingTsExtensions": true,
    "verbatimModuleSyntax": true,
    "erasableSyntaxOnly": true
  },
  "include": ["*.ts"]
}
`;

function imports(parts: readonly (Part | undefined)[], own: readonly string[]): string {
  const lines = [...own, ...parts.flatMap((part) => part?.imports ?? [])];
  return [...new Set(lines)].sort((a, b) => moduleOf(a).localeCompare(moduleOf(b))).join("\n");
}

/** Packages of Node first, files last. */
function moduleOf(line: string): string {
  const module = /from "([^"]+)"/.exec(line)![1]!;
  return `${module.startsWith("node:") ? "1" : module.startsWith(".") ? "3" : "2"}${module}`;
}

function environmentFile(name: string, templates: readonly Template[]): string {
  const parts = templates.map(({ environment }) => environment);
  return `${imports(parts, [`import { Environment } from "@envport/server";`])}

const env = new Environment({ name: ${JSON.stringify(name)}, version: "0.1.0" });

${parts.flatMap((part) => part?.code ?? []).join("\n\n")}

export default env;
`;
}

function agentFile(templates: readonly Template[]): string {
  const parts = templates.flatMap(({ agent }) => agent ?? []);
  const cases = parts.map(({ task, code }) => `    case ${JSON.stringify(task)}: {\n${code}\n    }`);
  const usesClient = parts.some(({ code }) => code.includes("client"));
  return `${imports(parts, [`import type { Agent } from "@envport/cli";`])}

/** Does a task through the environment's capabilities, and returns the answer. A model of yours goes here. */
const agent: Agent = async (${usesClient ? "client" : "_client"}, task) => {
  switch (task.id) {
${cases.join("\n")}
    default:
      throw new Error(\`This agent does not know task '\${task.id}': \${task.promptText}\`);
  }
};

export default agent;
`;
}

function testFile(templates: readonly Template[]): string {
  const parts = templates.map(({ test }) => test);
  const own = [
    `import assert from "node:assert/strict";`,
    `import { after, before, test } from "node:test";`,
    `import type { Agent } from "@envport/cli";`,
    `import { connect } from "@envport/client";`,
    `import { serve } from "@envport/server";`,
    `import type { Server } from "@envport/server";`,
    `import agent from "./agent.ts";`,
    `import env from "./env.ts";`,
  ];
  return `${imports(parts, own)}

let server: Server;
before(async () => {
  server = await serve(env);
});
after(() => server.close());

/** Start, act, grade. */
async function episode(id: string, act: Agent): Promise<number> {
  const client = await connect(server.url);
  try {
    const task = await client.start(id);
    const answer = await act(client, task, { signal: new AbortController().signal });
    return (await task.grade(answer)).score;
  } finally {
    await client.bye();
  }
}

for (const id of env.templates.keys()) {
  test(\`\${id}: the agent scores 1\`, async () => {
    assert.equal(await episode(id, agent), 1);
  });
  test(\`\${id}: an agent that does nothing scores 0\`, async () => {
    assert.equal(await episode(id, () => Promise.resolve(undefined)), 0);
  });
}
${parts.flatMap((part) => (part ? ["", part.code, ""] : [])).join("\n")}`;
}
