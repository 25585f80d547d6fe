import type { Template } from "./template.ts";

/** A shell in a sandbox. */
export const ssh: Template = {
  name: "ssh",
  summary: "a shell and files, in a sandbox",
  needs: [],
  packages: ["ssh", "workspace"],
  programs: ["bubblewrap"],
  environment: {
    imports: [`import { workspace } from "@envport/workspace";`],
    code: `// The agent works in this folder over ssh, from inside a sandbox where it is /workspace.
const shell = env.use(workspace("workspace"));

env.template("fix-sum", { description: "Repair a script" }).run(async function* (_args, { signal }) {
  await shell.writeFile("sum.sh", "echo $(($1 - $2))\\n", { signal });
  yield "sum.sh in /workspace should print the sum of two numbers. Repair it."; // the prompt
  const { stdout } = await shell.run(["bash", "sum.sh", "2", "3"], { signal });
  yield stdout.trim() === "5" ? 1 : 0; // the score
});`,
  },
  agent: {
    task: "fix-sum",
    imports: [`import { ssh } from "@envport/ssh";`],
    code: `      const shell = await client.open(ssh);
      await shell.run("sed -i 's/ - / + /' /workspace/sum.sh");
      return "done";`,
  },
};
