/**
 * What modules of the command `envport` are written against: the type of an agent, and the exit codes.
 *
 * @module
 */
export type { Agent, AgentContext } from "./agent.ts";
export { ExitCode } from "./exit_code.ts";
