import type { Peer } from "@envport/sandbox";
import type { Logger } from "@envport/wire";

/** Options of {@linkcode chromium}; times are in milliseconds. */
export interface ChromiumOptions {
  /**
   * The name of its capability.
   *
   * @default {"browser"}
   */
  readonly name?: string | undefined;
  /**
   * The program.
   *
   * @default what {@linkcode findBrowser} finds
   */
  readonly executablePath?: string | undefined;
  /**
   * Further words of its command line. `--no-sandbox` takes Chromium's own sandbox away; nothing else does. Words about
   * remote debugging and the profile are refused.
   */
  readonly args?: readonly string[] | undefined;
  /**
   * Without a window. With one, a display has to be there, and no sandbox.
   *
   * @default {true}
   */
  readonly headless?: boolean | undefined;
  /**
   * The size of pages, in CSS pixels.
   *
   * @default {width: 1280, height: 720}
   */
  readonly viewport?: { readonly width: number; readonly height: number } | undefined;
  /**
   * Linux: in a bubblewrap of its own, with a network of its own. No file of this machine but its programs can be read,
   * none written; no service of this machine can be reached but `peers`, no host but `allowedHosts`.
   *
   * @default {true} with `allowedHosts` or `peers`, else `false`
   */
  readonly sandbox?: boolean | undefined;
  /** The hosts that a sandboxed browser reaches, over HTTP and HTTPS; `["*"]` is every public one. */
  readonly allowedHosts?: readonly string[] | undefined;
  /**
   * Services outside that a sandboxed browser reaches, each by its name and port, and by no other: `{ name:
   * "shop.example", port: 80, target: { port: 41234 } }` is `http://shop.example/` in the browser.
   */
  readonly peers?: readonly Peer[] | undefined;
  /**
   * How long it may take until it answers.
   *
   * @default {60_000}
   */
  readonly startTimeout?: number | undefined;
  /**
   * Where warnings go.
   *
   * @default {consoleLogger()}
   */
  readonly logger?: Logger | undefined;
}
