import type { Output } from "./_output.ts";

/** What happens in an episode, in this order. */
export type EpisodeEvent =
  | { event: "connected"; url: string; environment: { name: string; version: string }; session: string }
  | { event: "started"; task: string; args: unknown; prompt: unknown }
  | { event: "progress"; message: string; fraction?: number | undefined }
  | { event: "answered"; answer: unknown; ms: number }
  | { event: "graded"; score: number; evaluation: unknown; ms: number };

/** Tells of an episode: lines for a person on a terminal, else one JSON object a line. */
export class EpisodeReport {
  readonly #output: Output;

  constructor(output: Output) {
    this.#output = output;
  }

  tell(event: EpisodeEvent): void {
    this.#output.line(this.#output.isTerminal ? describe(event) : JSON.stringify(event));
  }
}

function describe(event: EpisodeEvent): string {
  switch (event.event) {
    case "connected":
      return `connected  ${event.environment.name} ${event.environment.version} at ${event.url}`;
    case "started":
      return `started    ${event.task}\n${indent(text(event.prompt))}`;
    case "progress":
      return `           ${event.message}${event.fraction === undefined ? "" : ` (${String(Math.round(event.fraction * 100))} %)`}`;
    case "answered":
      return `answered   after ${String(event.ms)} ms\n${indent(text(event.answer))}`;
    case "graded":
      return `graded     after ${String(event.ms)} ms\nscore      ${String(event.score)}`;
  }
}

function text(value: unknown): string {
  if (value === undefined) return "(no answer)";
  return typeof value === "string" ? value : JSON.stringify(value);
}

function indent(lines: string): string {
  return lines.replaceAll(/^(?=.)/gm, "           ");
}
