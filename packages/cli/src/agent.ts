import type { Client, Task } from "@envport/client";

/** What an agent gets besides its client and its task. */
export interface AgentContext {
  /** Aborts when the episode is given up: Ctrl-C, or a lost connection. */
  readonly signal: AbortSignal;
}

/**
 * What `envport run --agent <module>` calls: works on a started task through the client's capabilities, and returns the
 * answer; a string or any JSON value, undefined for none. The module exports it by default, or by a name.
 */
export type Agent = (client: Client, task: Task, context: AgentContext) => Promise<unknown>;
