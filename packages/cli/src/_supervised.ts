/** What a supervised `envport serve` tells the process that started it. */
export type FromChild = { type: "file"; file: string } | ({ type: "listening" } & Listening);

/** Where it is served, and what, for people. */
export interface Listening {
  readonly url: string;
  /** 0 of a unix socket. */
  readonly port: number;
  readonly summary: string;
}

const MARK = "ENVPORT_SUPERVISED";

/** The variables of a supervised process. */
export function toChild(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...env, [MARK]: "1" };
}

/** This process's line to the one that supervises it. */
export interface Supervisor {
  tell(message: FromChild): void;
}

/**
 * The supervisor of this process, if it has one. When that is gone, however it ended, this process stops as on SIGTERM.
 * What this process starts has no supervisor.
 */
export function supervisor(): Supervisor | undefined {
  if (process.env[MARK] !== "1" || process.send === undefined) return undefined;
  Reflect.deleteProperty(process.env, MARK);
  process.once("disconnect", () => process.kill(process.pid, "SIGTERM"));
  // Reports must not keep a process alive that has nothing else to do.
  process.channel?.unref();
  return { tell: (message) => void process.send?.(message, () => undefined) };
}
