import { execFileSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { expect } from "vitest";

/** A real terminal with bash in it, on a server of its own. */
export class Tmux implements Disposable {
  readonly #socket: string = `envport-${randomUUID()}`;

  /** @param size In characters. */
  constructor({ cols, rows }: { cols: number; rows: number }) {
    const bash = ["env", "-u", "PROMPT_COMMAND", "bash", "--norc", "--noprofile"];
    this.#tmux("-f", "/dev/null", "new-session", "-d", "-x", String(cols), "-y", String(rows), ...bash);
    this.#tmux("set", "-g", "status", "off");
    this.resize({ cols, rows });
  }

  /** Types text; with a folder, goes there first. */
  type(text: string, folder?: string): void {
    if (folder !== undefined) this.#tmux("send-keys", "-l", `cd '${folder}'; clear\n`);
    this.#tmux("send-keys", "-l", text);
  }

  /** Presses a key by tmux's name for it. */
  key(name: string): void {
    this.#tmux("send-keys", name);
  }

  resize({ cols, rows }: { cols: number; rows: number }): void {
    this.#tmux("resize-window", "-x", String(cols), "-y", String(rows));
  }

  /** Waits until the screen matches. */
  async until(pattern: RegExp): Promise<void> {
    const end = Date.now() + 30_000;
    for (;;) {
      const screen = this.#tmux("capture-pane", "-p")
        .trimEnd()
        .replaceAll(/ +$/gm, (spaces) => spaces.slice(0, 1));
      // A prompt's last blank is not captured.
      if (pattern.test(screen) || pattern.test(`${screen} `)) return;
      if (Date.now() > end) expect.fail(`the screen never matched ${String(pattern)}:\n${screen}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  [Symbol.dispose](): void {
    this.#tmux("kill-server");
  }

  #tmux(...words: string[]): string {
    return execFileSync("tmux", ["-L", this.#socket, ...words], { encoding: "utf8" });
  }
}
