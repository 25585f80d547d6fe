import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { connectTo, makeFolder, readWhenThere, SERVERS, startScreen } from "./_testing.ts";

describe.each(SERVERS)("on %s", (server) => {
  test("an editor from Debian takes text in any script by keys and by the clipboard, and saves what was typed", async () => {
    const folder = await makeFolder();
    const file = join(folder, "note.txt");
    await writeFile(file, "\n");
    const { screen, capability } = await startScreen({ server, width: 800, height: 600 });
    const client = await connectTo(capability);
    const before = await client.frame();
    await screen.spawn({
      command: ["mousepad", "--disable-server", file],
      env: { HOME: folder, XDG_CONFIG_HOME: folder },
    });
    await client.waitForChange({ since: before });
    await client.waitForSettle({ quiet: 700, ignore: [] }).catch(() => undefined);
    await client.click(300, 200);
    const many = Array.from({ length: 60 }, (_, i) => String.fromCodePoint(0x5000 + i * 11)).join("");
    await client.press("ctrl+Home");
    await client.type("Grüße (a>b) & {x|y}\nПривет мир 😀 漢字\n");
    await client.type(many);
    await client.press("ctrl+s");
    const expected = `Grüße (a>b) & {x|y}\nПривет мир 😀 漢字\n${many}\n`;
    expect(await readWhenThere(file, (text) => text.length >= expected.length)).toBe(expected);
  });
});
