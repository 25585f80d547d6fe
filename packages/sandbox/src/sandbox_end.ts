/** How a sandbox ended. */
export interface SandboxEnd {
  /** `stopped` by its owner, or `died` by itself: the agent killed it, or the kernel did. */
  readonly reason: "stopped" | "died";
  /** What is known about it, for people. */
  readonly detail: string;
}
