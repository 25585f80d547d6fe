import type { ArgumentSpec, Command, OptionSpec } from "./_command.ts";
import { COMMON_OPTIONS } from "./_command.ts";

/** Columns that help fits into. */
const WIDTH = 96;

const ENDING = `Exit codes: 0 done, 1 failed, 2 usage, 3 cannot connect, 4 score below --min-score,
255 a command inside could not be run; 'exec' and a shell end as the command inside does.
`;

/** What `envport --help` prints. */
export function generalHelp(commands: readonly Command[]): string {
  const rows = commands.map(
    ({ path, arguments: words, rest, summary }) => [signature(path, words, rest), summary] as const,
  );
  return `Make, serve, inspect and drive an agent's environment.

Usage: envport <command> [options]

${table(rows)}
  envport <command> --help    what it takes, with examples
  envport --version           the version

${ENDING}`;
}

/** What `envport <command> --help` prints. */
export function commandHelp(command: Command): string {
  const { path, summary, details, arguments: words, rest, options, examples } = command;
  const all = rest ? [...words, { ...rest, name: `-- ${rest.name}` }] : words;
  const parts = [`${summary}.`, `Usage: envport ${signature(path, words, rest)} [options]`];
  if (details !== undefined) parts.push(wrap(details, ""));
  if (all.length > 0)
    parts.push(`Arguments:\n${table(all.map(({ name, summary }) => [name, summary]))}`.trimEnd());
  parts.push(
    `Options:\n${table([...options, ...COMMON_OPTIONS].map((option) => [optionLabel(option), option.summary]))}`.trimEnd(),
  );
  parts.push(`Examples:\n${examples.map(([line, what]) => `  # ${what}\n  envport ${line}`).join("\n")}`);
  return `${parts.join("\n\n")}\n`;
}

function signature(path: string, words: readonly ArgumentSpec[], rest: ArgumentSpec | undefined): string {
  const shown = words.map(({ name, optional, many }) => {
    const label = `${name}${many ? "…" : ""}`;
    return optional ? `[${label}]` : `<${label}>`;
  });
  return [path, ...shown, ...(rest ? [`-- <${rest.name}…>`] : [])].join(" ");
}

function optionLabel({ name, short, value }: OptionSpec): string {
  return `${short === undefined ? "    " : `-${short}, `}--${name}${value === undefined ? "" : ` <${value}>`}`;
}

/** Two columns, the second one wrapped. */
function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([label]) => label.length));
  const indent = " ".repeat(width + 4);
  return rows.map(([label, text]) => `  ${label.padEnd(width)}  ${wrap(text, indent)}\n`).join("");
}

function wrap(text: string, indent: string): string {
  const lines = [""];
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1)!;
    if (line !== "" && indent.length + line.length + 1 + word.length > WIDTH) lines.push(word);
    else lines[lines.length - 1] = line === "" ? word : `${line} ${word}`;
  }
  return lines.join(`\n${indent}`);
}
