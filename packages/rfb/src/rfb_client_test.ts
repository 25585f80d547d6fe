import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import sharp from "sharp";
import { beforeAll, describe, expect, onTestFinished, test, afterAll } from "vitest";
import {
  atPort,
  connectTo,
  execute,
  grab,
  makeFolder,
  readWhenThere,
  SERVERS,
  startScreen,
  startXterm,
  tap,
  until,
} from "./_testing.ts";
import { RfbClient } from "./rfb_client.ts";
import { Screen } from "./screen.ts";

describe.each(SERVERS)("on %s", (server) => {
  let screen: Screen;
  beforeAll(async () => {
    screen = new Screen({ server, width: 640, height: 480 });
    await screen.start();
  });
  afterAll(() => screen.stop());

  const connect = (): Promise<RfbClient> => connectTo(screen.capability);

  /** A terminal that writes what is typed into a file, line by line. */
  async function openReader(client: RfbClient): Promise<string> {
    const file = join(await makeFolder(), "typed");
    const before = await client.frame();
    const xterm = await startXterm(screen, `cat > ${file}`);
    onTestFinished(() => void xterm.kill());
    await client.waitForChange({ since: before });
    await client.waitForSettle();
    await client.click(200, 200, { on: "screen" });
    return file;
  }

  /** What xev says of keys and buttons, as `press <keysym or button> <state>`. */
  async function openEvents(client: RfbClient): Promise<(last: string) => Promise<string[]>> {
    const file = join(await makeFolder(), "events");
    const before = await client.frame();
    await execute("true");
    const child = await screen.spawn(
      `exec xev -geometry 640x480+0+0 -event keyboard -event button > ${file}`,
    );
    onTestFinished(() => void child.kill());
    await client.waitForChange({ since: before });
    await client.waitForSettle();
    await client.move(300, 300, { on: "screen" });
    return async (last) => {
      const read = (text: string): string[] => {
        const pattern =
          /(Key|Button)(Press|Release) event[^]*?state (0x[0-9a-f]+),\s*(?:keycode \d+ \(keysym 0x[0-9a-f]+, (\S+?)\)|button (\d+))/g;
        return [...text.matchAll(pattern)].map(([, , kind, state, key, button]) => {
          // Locks and buttons are no matter here.
          return `${kind} ${key ?? button} ${Number(state) & 13}`;
        });
      };
      return read(await readWhenThere(file, (text) => read(text).some((event) => event.startsWith(last))));
    };
  }

  test("type() writes any Unicode exactly into a real window: ASCII, Cyrillic, CJK, emoji", async () => {
    const client = await connect();
    const file = await openReader(client);
    const lines = ["Hello_World-42 (a>b) & {x|y} #~$ \\ ' \" `", "Grüße, Привет мир", "漢字かな 😀🎉"];
    await client.type(`${lines.join("\n")}\n`);
    expect(await readWhenThere(file, (text) => text.includes(lines[2]!))).toBe(`${lines.join("\n")}\n`);
  });

  test("type() takes the clipboard where there are more characters than keys, and the text is as exact", async () => {
    const client = await connect();
    const file = await openReader(client);
    const many = Array.from({ length: 120 }, (_, i) => String.fromCodePoint(0x4e00 + i * 7)).join("");
    await client.type(`${many.slice(0, 60)}\n`);
    await client.type(`${many.slice(60)}\n`);
    await readWhenThere(file, (text) => text.includes(many.slice(60)));
    expect(await readWhenThere(file)).toBe(`${many.slice(0, 60)}\n${many.slice(60)}\n`);
  });

  test("900 characters without a pause all arrive, in order", async () => {
    const client = await connect();
    const file = await openReader(client);
    const line = Array.from({ length: 900 }, (_, i) => "aB3_{"[i % 5]).join("");
    await client.type(`${line}\n`);
    expect(await readWhenThere(file, (text) => text.endsWith("\n"))).toBe(`${line}\n`);
  });

  test("press() sends with Shift what the key then writes, so that the chord stays a chord", async () => {
    const client = await connect();
    const events = await openEvents(client);
    await client.press("ctrl+shift+t");
    await client.press("Return");
    const all = await events("Release Return");
    assert.deepEqual(
      all.filter((event) => event.startsWith("Press")),
      ["Press Control_L 0", "Press Shift_L 4", "Press T 5", "Press Return 0"],
    );
    expect(all).not.toContain("Press Caps_Lock 0");
  });

  test("clicks, double clicks and modifiers arrive as they are meant, and nothing stays down", async () => {
    const client = await connect();
    const events = await openEvents(client);
    await client.click(100, 100, { button: "right", modifiers: "ctrl" });
    await client.doubleClick(100, 100);
    await client.press("x");
    assert.deepEqual(await events("Release x"), [
      "Press Control_L 0",
      "Press 3 4",
      "Release 3 4",
      "Release Control_L 4",
      ...["Press 1 0", "Release 1 0", "Press 1 0", "Release 1 0"],
      ...["Press x 0", "Release x 0"],
    ]);
  });

  test("scroll() turns both ways, and sideways by buttons or with Shift", async () => {
    const client = await connect();
    const events = await openEvents(client);
    await client.scroll(300, 300, { dy: 2 });
    await client.scroll(300, 300, { dx: 250, dy: -99, unit: "pixels" });
    await client.press("x");
    const pressed = (await events("Release x")).filter((event) => event.startsWith("Press"));
    const sideways =
      server === "x11vnc" ? ["Press Shift_L 0", "Press 5 1", "Press 5 1"] : ["Press 7 0", "Press 7 0"];
    // 250 pixels are two and a half clicks.
    const [last] = sideways.slice(-1);
    assert.deepEqual(pressed, ["Press 5 0", "Press 5 0", "Press 4 0", ...sideways, last, "Press x 0"]);
  });

  test("an abort in the middle of a drag lets the button go", async () => {
    const client = await connect();
    const events = await openEvents(client);
    const giving = new AbortController();
    const drag = client.drag(
      { x: 100, y: 100 },
      { x: 500, y: 400 },
      { signal: giving.signal, modifiers: "shift" },
    );
    setTimeout(() => giving.abort(new Error("enough")), 100);
    await assert.rejects(drag, /enough/);
    await client.press("x");
    const all = await events("Release x");
    assert.deepEqual(all.slice(-4), ["Release 1 1", "Release Shift_L 1", "Press x 0", "Release x 0"]);
  });

  test("keys and buttons held at the end of a client come up with its close", async () => {
    const client = await connect();
    const events = await openEvents(client);
    await client.mouseDown(200, 200);
    await client.close();
    expect((await events("Release 1")).slice(-2)).toEqual(["Press 1 0", "Release 1 0"]);
  });

  test("a lost connection leaves no modifier down for the next one, and the next call connects again", async () => {
    const { port, cut } = await tap(screen.capability);
    const client = await connectTo(atPort(screen.capability, port));
    const events = await openEvents(client);
    const pressing = client.press("shift+ctrl+F5", { holdTime: 10_000 });
    const lost = assert.rejects(pressing, { code: "connection-lost" });
    await events("Press F5");
    cut();
    await lost;
    await client.move(310, 310, { on: "screen" });
    await client.press("z");
    expect(await events("Release z")).toContain("Press z 0");
  }, 30_000);

  test("the clipboard goes both ways, whole and in any script", async () => {
    const client = await connect();
    const env = { ...process.env, ...screen.env };
    const text = "wörld € 漢字 😀\nsecond line";
    await client.writeClipboard(text);
    await expect
      .poll(
        async () =>
          (await execute("xclip", ["-o", "-selection", "clipboard"], { env }).catch(() => ({ stdout: "" })))
            .stdout,
        {
          timeout: 10_000,
        },
      )
      .toBe(text);
    const back = client.waitForClipboard({ timeout: 18_000 });
    const file = join(await makeFolder(), "text");
    await writeFile(file, "copied: привет 漢字");
    // x11vnc is mute for 15 s after a connect.
    await until("it is told", async () => {
      await execute("sh", ["-c", `xclip -selection clipboard -i ${file} </dev/null >/dev/null 2>&1`], {
        env,
      });
      await new Promise((resolve) => setTimeout(resolve, 500));
      return client.clipboard?.includes("привет") ? true : undefined;
    }).catch(() => undefined);
    expect(await back).toBe("copied: привет 漢字");
    expect(client.clipboard).toBe("copied: привет 漢字");
  }, 40_000);
});

test("coordinates are pixels of the last screenshot: a click lands in the middle of what it shows", async () => {
  const { screen, capability } = await startScreen({ width: 1000, height: 800 });
  const client = await connectTo(capability);
  const shot = await client.screenshot({ scale: { maxWidth: 250, maxHeight: 250 } });
  expect([shot.width, shot.height, shot.scale]).toEqual([250, 200, 0.25]);
  const location = async (): Promise<string> => {
    await client.barrier();
    const { stdout } = await execute("xdotool", ["getmouselocation"], {
      env: { ...process.env, ...screen.env },
    });
    return /x:(\d+) y:(\d+)/.exec(stdout)!.slice(1).join(",");
  };
  await client.click(249, 199);
  expect(await location()).toBe("998,798");
  await client.click(0, 0);
  expect(await location()).toBe("2,2");
  await client.move(999, 799, { on: "screen" });
  expect(await location()).toBe("999,799");
  await client.screenshot({ region: { x: 500, y: 400, width: 100, height: 100 } });
  await client.move(10, 10);
  expect(await location()).toBe("42,42");
  const zoomed = await client.screenshot({ region: { x: 500, y: 400, width: 100, height: 100 } });
  await client.move(10, 20, { on: zoomed });
  expect(await location()).toBe("510,420");
  await assert.rejects(
    client.click(250, 10),
    /RangeError: .* must lie in the 250x200 image: current value is 250,10/,
  );
});

test("screenshot() makes PNG, JPEG and WebP of a region, a scale and within a limit of bytes", async () => {
  const { screen, capability } = await startScreen({ width: 320, height: 240 });
  const xterm = await startXterm(screen, "seq 1 9; ls -la /; sleep 60");
  const client = await connectTo(capability);
  await client.move(300, 230);
  await client.waitForChange().catch(() => undefined);
  await client.waitForSettle();
  for (const format of ["png", "jpeg", "webp"] as const) {
    const shot = await client.screenshot({
      format,
      region: { x: 10, y: 20, width: 100, height: 50 },
      scale: 0.5,
    });
    const { width, height, format: found } = await sharp(shot.data).metadata();
    assert.deepEqual([found, width, height, shot.mimeType], [format, 50, 25, `image/${format}`]);
    const small = await client.screenshot({ format, maxBytes: 1_500 });
    assert.ok(small.data.length <= 1_500 && small.width > 10, `${small.data.length} ${small.width}`);
  }
  const { data } = await client.screenshot();
  const decoded = await sharp(data).removeAlpha().raw().toBuffer();
  assert.ok(decoded.equals((await grab(screen)).rgb));
  xterm.kill();
});

test("without sharp, PNG is as exact, and other formats say what is missing", async () => {
  const { screen, capability } = await startScreen({ width: 320, height: 240 });
  const client = await connectTo(capability, { imageEncoder: "own" });
  const { data } = await client.screenshot();
  const decoded = await sharp(data).removeAlpha().raw().toBuffer();
  assert.ok(decoded.equals((await grab(screen)).rgb));
  const half = await sharp((await client.screenshot({ scale: 0.5 })).data).metadata();
  expect([half.width, half.height]).toEqual([160, 120]);
  await assert.rejects(client.screenshot({ format: "webp" }), {
    code: "unsupported",
    message: /PNG only.*'webp'$/,
  });
});

test("resize() and a resize by the guest change the screen under the client, which goes on", async () => {
  const { screen, capability } = await startScreen({ server: "tigervnc" });
  const client = await connectTo(capability);
  await client.resize(800, 600);
  expect(client.size).toEqual({ width: 800, height: 600 });
  await execute("xrandr", ["-s", "1024x768"], { env: { ...process.env, ...screen.env } });
  await until("the client knows", () => client.size.width === 1024 || undefined);
  const frame = await client.frame();
  expect([frame.width, frame.height]).toEqual([1024, 768]);
  expect(Buffer.from(frame.data).length).toBe(1024 * 768 * 4);
});

test("a server that cannot resize says so", async () => {
  const { capability } = await startScreen({ server: "x11vnc", width: 320, height: 240 });
  const client = await connectTo(capability);
  await assert.rejects(client.resize(640, 480), { code: "unsupported" });
  expect(client.size).toEqual({ width: 320, height: 240 });
});

test("updates() tells what changes, joined while nobody asks, and ends with the connection", async () => {
  const { screen, capability } = await startScreen();
  const client = await connectTo(capability);
  const updates = client.updates();
  const first = updates.next();
  const xterm = await startXterm(screen, "seq 1 1000; sleep 60");
  const { value } = await first;
  assert.ok(value && value.rects.length > 0 && value.width === 640);
  await client.waitForSettle();
  xterm.kill();
  await client.close();
  await assert.rejects(
    (async () => {
      for await (const update of updates) assert.ok(update.width > 0);
    })(),
    { code: "closed" },
  );
});

test("waitForChange() and waitForSettle() give up in time and by signal", async () => {
  const { capability } = await startScreen({ width: 160, height: 120 });
  const client = await connectTo(capability);
  await assert.rejects(client.waitForChange({ timeout: 100 }), { code: "timeout" });
  await assert.rejects(client.waitForChange({ signal: AbortSignal.timeout(50) }), { name: "TimeoutError" });
  await client.waitForSettle({ quiet: 50 });
  await client.close();
  await client.close();
  await assert.rejects(client.click(1, 1), { code: "closed" });
});
