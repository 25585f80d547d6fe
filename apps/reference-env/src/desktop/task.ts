import { screen } from "@envport/rfb";
import type { Environment } from "@envport/server";
import { once } from "node:events";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import { seededRandom } from "../seeded_random.ts";

/** What the note says before it is edited; the second line has to go. */
const BEFORE = ["Shopping for Saturday", "cancelled: the old tent", "bread, apples"];
const THINGS = ["žluťoučký kůň", "crème brûlée", "Käsespätzle", "сырники", "お茶 and 緑茶"];
const SIZE = { width: 800, height: 600 };

/**
 * The task `desktop`: a note in an editor in a window, to be changed and saved by looking and typing.
 *
 * @param env Where to register it, with its service.
 * @param folder Where the notes go.
 */
export function registerDesktop(env: Environment, folder: string): void {
  const display = env.use(screen(SIZE));
  env
    .template("desktop", {
      description: "Edit a note in a desktop program",
      args: z.object({ seed: z.int().default(5) }),
      timeouts: { startMs: 60_000 },
    })
    .run(async function* ({ seed }) {
      const random = seededRandom(seed);
      const thing = `${THINGS[Math.floor(random() * THINGS.length)]!} x${String(2 + Math.floor(random() * 8))}`;
      const home = await mkdtemp(path.join(folder, "note-"));
      const file = path.join(home, "note.txt");
      await writeFile(file, `${BEFORE.join("\n")}\n`);
      const editor = await display.spawn({
        command: ["mousepad", "--disable-server", file],
        env: { HOME: home, XDG_CONFIG_HOME: home },
      });
      try {
        yield `The editor on the screen has a shopping list. Delete its second line, add the line "${thing}" at its end, and save it (Ctrl+S).`;
        const [first, , last] = BEFORE;
        const text = await readFile(file, "utf8");
        yield text.trimEnd() === [first, last, thing].join("\n") ? 1 : 0;
      } finally {
        if (editor.kill("SIGKILL")) await once(editor, "exit");
        // What it had started may still be writing its settings.
        await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
      }
    });
}
