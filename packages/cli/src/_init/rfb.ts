import type { Template } from "./template.ts";

/** A screen with a window. */
export const rfb: Template = {
  name: "rfb",
  summary: "a desktop to see and work on",
  needs: [],
  packages: ["rfb"],
  programs: ["tigervnc-standalone-server", "xterm"],
  environment: {
    imports: [
      `import { mkdtemp, readFile, rm } from "node:fs/promises";`,
      `import { tmpdir } from "node:os";`,
      `import { join } from "node:path";`,
      `import { screen } from "@envport/rfb";`,
    ],
    code: `// The agent sees this screen, and works on it with pointer and keys.
const desktop = env.use(screen({ width: 800, height: 600 }));

env.template("note", { description: "Type into a window" }).run(async function* () {
  const folder = await mkdtemp(join(tmpdir(), "note-"));
  const script = 'echo "Note:"; read -r line; echo "$line" > note.txt';
  const terminal = await desktop.spawn({
    command: ["xterm", "-bg", "white", "-geometry", "80x24+0+0", "-e", "sh", "-c", script],
    cwd: folder,
  });
  try {
    yield "A window on the screen takes a note. Type hello into it, and press Enter."; // the prompt
    const note = await readFile(join(folder, "note.txt"), "utf8").catch(() => "");
    yield note === "hello\\n" ? 1 : 0; // the score
  } finally {
    terminal.kill();
    await rm(folder, { recursive: true });
  }
});`,
  },
  agent: {
    task: "note",
    imports: [`import { rfb } from "@envport/rfb";`],
    code: `      const desktop = await client.open(rfb);
      const untilWindow = async (isOpen: boolean) => {
        for (;;) {
          const spot = await desktop.frame({ region: { x: 100, y: 100, width: 1, height: 1 } });
          if ((spot.data[0]! > 240) === isOpen) return; // the window is white there
          await desktop.waitForChange({ since: spot });
        }
      };
      await untilWindow(true);
      await desktop.click(50, 50);
      await desktop.type("hello\\n");
      await untilWindow(false);
      return "done";`,
  },
};
