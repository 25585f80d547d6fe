import { Environment } from "@envport/server";
import { workspace } from "@envport/workspace";

const env = new Environment({ name: "shells" });
const shell = env.use(workspace("workspace"));
env.template("write").run(async function* () {
  yield "Write 42 into answer.txt";
  const { stdout } = await shell.run("cat answer.txt");
  yield stdout.trim() === "42" ? 1 : 0;
});

export { env as shells };
