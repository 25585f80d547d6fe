import type { SandboxCommand, SandboxProcess } from "@envport/sandbox";
import type { PseudoTtyInfo, ServerChannel, Session } from "ssh2";
import { shellArgv, sftpArgv } from "./_session_argv.ts";
import type { Runner } from "./_runner.ts";
import { refuseSession, relayProcess } from "./_relay_process.ts";
import { onClosed } from "./_ssh2.ts";
import type { SessionInternals } from "./_ssh2.ts";

/** What a session needs of its workspace. */
export interface SessionHost {
  /** Starts the sandbox where none runs. */
  readonly runner: Runner;
  /** `PATH` of commands, which a login shell's profile would replace. */
  readonly path: string;
  /** Where SFTP starts. */
  readonly cwd: string;
  /** Receives what must not cross the wire. */
  readonly log: (message: string, error: unknown) => void;
}

const VARIABLE = /^[A-Za-z_]\w*$/;
const MAX_VARIABLES = 128;
const MAX_VARIABLE_BYTES = 64 * 1024;

/**
 * One session channel: what the client asks for before the command, the command itself, and signals to it.
 *
 * ```text
 * open ── env, pty-req ──▶ open ── exec | shell | subsystem ──▶ running ── signal, window-change, eow ──▶ running
 * ```
 */
export class SshSession {
  readonly #host: SessionHost;
  readonly #env: Record<string, string> = {};
  #pty: { term?: string; rows: number; cols: number } | undefined;
  #process: SandboxProcess | undefined;
  /** Signals that came before the process was there. */
  #early: NodeJS.Signals[] = [];

  /**
   * @param session The accepted session.
   * @param host What it runs in.
   */
  constructor(session: Session, host: SessionHost) {
    this.#host = host;
    session.on("eof", () => {
      (session as unknown as SessionInternals)._ending = false;
    });
    session.on("env", (accept, reject, { key, val }) => reply(this.#setVariable(key, val), accept, reject));
    session.on("pty", (accept, _reject, info) => {
      this.#pty = terminal(info);
      reply(true, accept, undefined);
    });
    session.on("window-change", (accept, _reject, { rows, cols }) => {
      this.#resize(rows, cols);
      reply(true, accept, undefined);
    });
    session.on("signal", (accept, _reject, { name }) => {
      this.#signal(`SIG${name}` as NodeJS.Signals);
      reply(true, accept, undefined);
    });
    session.on("exec", (accept, _reject, { command }) => {
      void this.#run(accept(), shellArgv(command, host.path));
    });
    session.on("shell", (accept) => {
      void this.#run(accept(), shellArgv(undefined, host.path));
    });
    session.on("subsystem", (accept, reject, { name }) => {
      if (name === "sftp") void this.#run(accept(), sftpArgv(host.cwd));
      else reject();
    });
  }

  /** The client's own standard output was closed (`eow@openssh.com`): the command gets SIGPIPE when it writes. */
  endOutput(): void {
    this.#process?.stdout.destroy();
  }

  async #run(channel: ServerChannel | undefined, argv: readonly string[]): Promise<void> {
    if (!channel) return; // a second request on the same session
    channel.on("error", () => undefined);
    channel.stderr.on("error", () => undefined);
    const gone = new AbortController();
    onClosed(channel, () => gone.abort());
    try {
      const command: SandboxCommand = { argv, env: this.#env, ...(this.#pty && { pty: this.#pty }) };
      this.#process = await this.#host.runner.spawn(command, { signal: gone.signal });
    } catch (error) {
      if (gone.signal.aborted) return;
      this.#host.log("cannot start a session", error);
      await refuseSession(channel, reasonOf(error)).catch(() => undefined);
      return;
    }
    for (const name of this.#early.splice(0)) this.#process.signal(name);
    await relayProcess(this.#process, channel).catch((error: unknown) =>
      this.#host.log("a session broke", error),
    );
  }

  #setVariable(name: string, value: string): boolean {
    const known = Object.entries(this.#env);
    const bytes = known.reduce(
      (sum, [key, text]) => sum + key.length + text.length,
      name.length + value.length,
    );
    if (!VARIABLE.test(name) || value.includes("\0")) return false;
    if (known.length >= MAX_VARIABLES || bytes > MAX_VARIABLE_BYTES) return false;
    this.#env[name] = value;
    return true;
  }

  #resize(rows: number, cols: number): void {
    if (this.#pty) this.#pty = { ...this.#pty, rows, cols };
    this.#process?.resize({ rows, cols });
  }

  #signal(name: NodeJS.Signals): void {
    if (this.#process) this.#process.signal(name);
    else if (this.#early.length < 16) this.#early.push(name);
  }
}

/** ssh2 passes callbacks only where the client wants a reply. */
function reply(
  accepted: boolean,
  accept: (() => unknown) | undefined,
  reject: (() => unknown) | undefined,
): void {
  if (accepted) accept?.();
  else reject?.();
}

function terminal(info: PseudoTtyInfo): { term?: string; rows: number; cols: number } {
  // RFC 4254, section 6.2: zero means "not given".
  const { term } = info as PseudoTtyInfo & { term?: string };
  return { ...(term ? { term } : {}), rows: info.rows || 24, cols: info.cols || 80 };
}

/** What a client may know: never a path of the host or the text of a system error (ERR-3). */
function reasonOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  if (code === "spawn-failed") return "the program is not there or cannot be run";
  if (code === "stopped" || code === "died") return "the workspace is stopping";
  if (typeof code === "string" && /^[A-Z0-9_]+$/.test(code)) return code;
  return "the sandbox is not available";
}
