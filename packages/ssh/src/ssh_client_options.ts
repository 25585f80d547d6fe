import type { AbortOptions } from "@envport/wire";
import type { CollectOptions } from "./collect_output.ts";
import type { PortForwardOptions } from "./port_forward.ts";

/** Options of `SshClient.connect`. */
export interface SshConnectOptions extends AbortOptions {
  /**
   * Milliseconds from the dial to the login.
   *
   * @default {20_000}
   */
  readyTimeout?: number | undefined;
}

/** A terminal's name and size. */
export interface PtyOptions {
  /** @default {"xterm-256color"} */
  term?: string | undefined;
  /** @default {24} */
  rows?: number | undefined;
  /** @default {80} */
  cols?: number | undefined;
}

/** Options of `SshClient.spawn`. */
export interface SpawnOptions extends AbortOptions {
  /**
   * The folder to start in.
   *
   * @default where the server starts commands
   */
  cwd?: string | undefined;
  /** Variables on top of the server's own. */
  env?: Readonly<Record<string, string>> | undefined;
  /**
   * Runs the command in a terminal: `true`, or its name and size.
   *
   * @default {false}
   */
  pty?: boolean | PtyOptions | undefined;
}

/** Options of `SshClient.run`. */
export interface RunOptions extends Omit<SpawnOptions, "pty">, CollectOptions {}

/** Options of `SshClient.shell`. */
export interface ShellOptions extends PtyOptions, AbortOptions {
  /** Variables, as far as the server takes them. */
  env?: Readonly<Record<string, string>> | undefined;
}

/** Options of `SshClient.readFile`. */
export interface ReadFileOptions extends AbortOptions {
  /**
   * The largest file that is read; a larger one is refused, not cut.
   *
   * @default 64 MiB
   */
  maxBytes?: number | undefined;
  /** Decodes the content. */
  encoding?: "utf8" | undefined;
}

/** Options of `SshClient.writeFile`. */
export interface WriteFileOptions extends AbortOptions {
  /**
   * Permission bits of a new file.
   *
   * @default {0o644}
   */
  mode?: number | undefined;
}

/** Options of `SshClient.forward`. */
export interface ForwardOptions extends PortForwardOptions {
  /**
   * The host as the server sees it.
   *
   * @default {"127.0.0.1"}
   */
  host?: string | undefined;
}
