import { mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { expect, test } from "vitest";
import { envport, project, serveIn, start } from "../_testing.ts";

test(
  "it shows the environment, its tasks with their arguments, and its bindings without their keys",
  { timeout: 60_000 },
  async () => {
    const folder = project(["env.ts", "greeting.ts", "shell_env.ts"]);
    const { url } = await serveIn(folder, "env.ts");
    expect(await envport(["connect", url])).toEqual({
      code: 0,
      stderr: "",
      stdout: `fixture 1.2.3 at ${url}

Tasks
  greet  Greet somebody
    who   string          default "world"  Whom to greet
    mood  "glad" | "sad"  default "glad"
  needs
    count  number  required
  fails
  waits

No bindings
`,
    });
    const shells = await serveIn(folder, "shell_env.ts");
    const { stdout } = await envport(["connect", shells.url]);
    expect(stdout).toMatch(
      /^Bindings\n {2}shell {9}ssh\/2 {11}ssh:\/\/.*\n {2}filetracking {2}filetracking\/1 {2}/m,
    );
    const shown = await envport(["connect", shells.url, "--json"]);
    const { bindings, environment, tasks } = JSON.parse(shown.stdout);
    expect(environment).toEqual({ name: "shells", version: "0.0.1" });
    expect(tasks).toMatchObject([{ id: "write" }]);
    expect(bindings[0]).toMatchObject({
      name: "shell",
      params: {
        client_key: "(hidden: --secrets shows it)",
        host_pubkey: expect.stringMatching(/^ssh-ed25519 /),
      },
    });
    expect(shown.stdout).not.toContain("PRIVATE KEY");
    expect((await envport(["connect", shells.url, "--json", "--secrets"])).stdout).toContain("PRIVATE KEY");
  },
);

test("--wait waits for an environment that is only being started", { timeout: 60_000 }, async () => {
  const folder = project();
  mkdirSync(path.join(folder, "slow"));
  writeFileSync(
    path.join(folder, "slow/env.ts"),
    `import { Environment } from "@envport/server";
await new Promise((resolve) => setTimeout(resolve, 1000));
export default new Environment({ name: "slow" });`,
  );
  const { url, server } = await serveIn(folder, "slow");
  await server.stop();
  const port = /\d+$/.exec(url)![0];
  start(["serve", "slow", "--port", port], { cwd: folder });
  expect(await envport(["connect", url, "--wait", "50"])).toMatchObject({ code: 0, stderr: "" });
});
