import type { Template } from "./template.ts";

/** What the agent changed: the workspace publishes it beside its shell. */
export const filetracking: Template = {
  name: "filetracking",
  summary: "what the agent changed in the workspace, as a patch",
  needs: ["ssh"],
  packages: ["filetracking"],
  test: {
    imports: [`import { filetracking } from "@envport/filetracking";`],
    code: `test("fix-sum: the agent changes sum.sh and nothing else", async () => {
  await episode("fix-sum", async (client, task, context) => {
    const files = await client.open(filetracking);
    await files.setup(); // what changes from here on is the agent's doing
    const answer = await agent(client, task, context);
    const patch = await files.toPatch();
    assert.deepEqual(patch.match(/^diff --git .*$/gm), ["diff --git a/sum.sh b/sum.sh"]);
    return answer;
  });
});`,
  },
};
