/** A program to run on a screen. */
export interface ScreenProgram {
  /** The program and its arguments, or a line for `sh`. */
  readonly command: string | readonly string[];
  /**
   * The folder that it starts in.
   *
   * @default the current one
   */
  readonly cwd?: string | undefined;
  /** Variables on top of the few that it gets: `DISPLAY`, `XAUTHORITY`, `PATH`, `HOME`, the language. */
  readonly env?: Readonly<Record<string, string>> | undefined;
}

/** What kind of screen, and what is on it. */
export interface ScreenOptions {
  /**
   * The name of its capability.
   *
   * @default {"screen"}
   */
  readonly name?: string | undefined;
  /**
   * In pixels.
   *
   * @default {1280}
   */
  readonly width?: number | undefined;
  /**
   * In pixels.
   *
   * @default {1024}
   */
  readonly height?: number | undefined;
  /**
   * `tigervnc` is TigerVNC's Xvnc, one process that is display and server; `x11vnc` is Xvfb with x11vnc; `auto` is the
   * first that is installed.
   *
   * @default {"auto"}
   */
  readonly server?: "auto" | "tigervnc" | "x11vnc" | undefined;
  /**
   * A VNC password, at most 8 bytes. It is not needed: nobody but the server reaches the screen's socket.
   *
   * @default none
   */
  readonly password?: string | undefined;
  /** Programs to start on it: lines for `sh`, programs with their arguments, or more about them. */
  readonly run?: readonly (string | readonly string[] | ScreenProgram)[] | undefined;
  /**
   * A display that exists already, such as `:0`, to be served through x11vnc. Its size stays.
   *
   * @default a new one
   */
  readonly display?: string | undefined;
}
