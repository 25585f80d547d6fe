import type { Template } from "./template.ts";

/** No capability: a question and an answer. */
export const quiz: Template = {
  name: "none",
  summary: "no capability, only a question and an answer",
  needs: [],
  packages: [],
  environment: {
    imports: [],
    code: `env.template("capital", { description: "Geography" }).run(async function* () {
  const answer = yield "What is the capital of Norway? Answer with its name."; // the prompt
  yield answer?.trim() === "Oslo" ? 1 : 0; // the score
});`,
  },
  agent: {
    task: "capital",
    imports: [],
    code: `      return "Oslo";`,
  },
};
