import type { Command, Completable } from "./_command.ts";
import { optionsOf } from "./_command.ts";

/** The shells that scripts are written for. */
export const SHELLS = ["bash", "zsh", "fish"] as const;

/** One of {@linkcode SHELLS}. */
export type Shell = (typeof SHELLS)[number];

/** The completion script of a shell, made from the table of commands. */
export function completionScript(shell: Shell, commands: readonly Command[]): string {
  if (shell === "bash") return bash(commands);
  return shell === "zsh" ? zsh(commands) : fish(commands);
}

/** The words that can stand first, or behind a group's name. */
function wordsAfter(
  prefix: readonly string[],
  commands: readonly Command[],
): [word: string, summary: string][] {
  const found = new Map<string, string>();
  for (const { path, summary } of commands) {
    const words = path.split(" ");
    const next = words[prefix.length];
    if (next === undefined || !prefix.every((word, index) => words[index] === word)) continue;
    const isGroup = words.length > prefix.length + 1;
    const before = found.get(next);
    const told = isGroup ? words.slice(prefix.length + 1).join(" ") : summary;
    found.set(next, before === undefined ? told : `${before}, ${told}`);
  }
  return [...found];
}

/** How a value is completed, as words of bash's compgen. */
function compgen({ words, files }: Completable): string {
  if (words) return `-W '${words.join(" ")}'`;
  return files === "folder" ? "-d" : files === "file" ? "-f" : "-W ''";
}

function bash(commands: readonly Command[]): string {
  const groups = [
    ...new Set(
      commands
        .map(({ path }) => path.split(" "))
        .filter(({ length }) => length > 1)
        .map(([word]) => word!),
    ),
  ];
  const names = (prefix: string[]): string =>
    wordsAfter(prefix, commands)
      .map(([word]) => word)
      .join(" ");
  const cases = commands.map((command) => {
    const values = optionsOf(command)
      .filter(({ value }) => value !== undefined)
      .map(
        (option) =>
          `        ${[`--${option.name}`, ...(option.short ? [`-${option.short}`] : [])].join("|")}) _envport_reply ${compgen(option)}; return ;;`,
      );
    const flags = optionsOf(command).map(({ name }) => `--${name}`);
    const first = command.arguments.find(({ files, words }) => files ?? words) ?? {};
    return `    '${command.path}')
      case "$prev" in
${values.join("\n")}
      esac
      if [[ $cur == -* ]]; then _envport_reply -W '${flags.join(" ")}'; else _envport_reply ${compgen(first)}; fi ;;`;
  });
  return `# bash completion of envport: source <(envport completion bash)
_envport_reply() {
  local IFS=$'\\n'
  [[ $1 == -f || $1 == -d ]] && compopt -o filenames 2>/dev/null
  if [[ $1 == -W ]]; then IFS=$' \\n' COMPREPLY=($(compgen -W "$2" -- "$cur"))
  else COMPREPLY=($(compgen "$1" -- "$cur")); fi
}
_envport() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} command=\${COMP_WORDS[1]} depth=1 word
  case "$command" in ${groups.join("|")}) command="$command \${COMP_WORDS[2]}" depth=2 ;; esac
  COMPREPLY=()
  if (( COMP_CWORD == 1 )); then _envport_reply -W '${names([])} help --help --version'; return; fi
  if (( COMP_CWORD == 2 && depth == 2 )); then
    case "\${COMP_WORDS[1]}" in
${groups.map((word) => `      ${word}) _envport_reply -W '${names([word])}' ;;`).join("\n")}
    esac
    return
  fi
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    if [[ $word == -- ]]; then _envport_reply -f; return; fi
  done
  case "$command" in
${cases.join("\n")}
  esac
}
complete -F _envport envport
`;
}

function zsh(commands: readonly Command[]): string {
  const quote = (text: string): string =>
    `'${text.replaceAll("'", `'\\''`).replaceAll("[", "(").replaceAll("]", ")").replaceAll(":", " -")}'`;
  const action = ({ words, files }: Completable): string =>
    words ? `:(${words.join(" ")})` : files === "folder" ? ":_files -/" : files === "file" ? ":_files" : ":";
  const described = (prefix: string[]): string =>
    wordsAfter(prefix, commands)
      .map(([word, summary]) => quote(`${word}\u0000${summary}`).replace("\u0000", ":"))
      .join(" ");
  const groups = [
    ...new Set(
      commands
        .map(({ path }) => path.split(" "))
        .filter(({ length }) => length > 1)
        .map(([word]) => word!),
    ),
  ];
  const cases = commands.map((command) => {
    const specs = optionsOf(command).map((option) => {
      const text = quote(`[${option.summary}]`).slice(1, -1).replace(/^\(/, "[").replace(/\)$/, "]");
      const value =
        option.value === undefined ? "" : `:${option.value.replaceAll(":", " ")}${action(option)}`;
      return `'${option.repeat ? "*" : ""}--${option.name}${text}${value}'`;
    });
    const words = command.arguments.map(
      (argument) =>
        `'${argument.many ? "*" : ""}:${argument.name.replaceAll(/[[\]:]/g, " ").trim()}${action(argument)}'`,
    );
    return `    '${command.path}') _arguments ${[...specs, ...words].join(" ")} ;;`;
  });
  return `#compdef envport
# zsh completion of envport: source <(envport completion zsh)
_envport() {
  local command=\${words[2]} depth=1
  local -a found
  case $command in ${groups.join("|")}) command="$command \${words[3]}"; depth=2 ;; esac
  if (( CURRENT == 2 )); then found=(${described([])}); _describe command found; return; fi
  if (( CURRENT == 3 && depth == 2 )); then
    case \${words[2]} in
${groups.map((word) => `      ${word}) found=(${described([word])}) ;;`).join("\n")}
    esac
    _describe command found; return
  fi
  shift $depth words; (( CURRENT -= depth ))
  case $command in
${cases.join("\n")}
  esac
}
compdef _envport envport
`;
}

function fish(commands: readonly Command[]): string {
  const quote = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
  const lines = wordsAfter([], commands).map(
    ([word, summary]) => `complete -c envport -n __fish_use_subcommand -f -a ${word} -d ${quote(summary)}`,
  );
  for (const command of commands) {
    const [first, second] = command.path.split(" ");
    if (second !== undefined) {
      const others = wordsAfter([first!], commands)
        .map(([word]) => word)
        .join(" ");
      lines.push(
        `complete -c envport -n '__fish_seen_subcommand_from ${first!}; and not __fish_seen_subcommand_from ${others}' -f -a ${second} -d ${quote(command.summary)}`,
      );
    }
    const seen =
      second === undefined
        ? `__fish_seen_subcommand_from ${first!}`
        : `__fish_seen_subcommand_from ${first!}; and __fish_seen_subcommand_from ${second}`;
    for (const { name, short, value, summary, files, words } of optionsOf(command)) {
      const takes =
        value === undefined ? "" : words ? ` -x -a ${quote(words.join(" "))}` : files ? " -r" : " -x";
      lines.push(
        `complete -c envport -n '${seen}' -l ${name}${short === undefined ? "" : ` -s ${short}`}${takes} -d ${quote(summary)}`,
      );
    }
    const words = command.arguments.find((argument) => argument.words)?.words;
    if (words) lines.push(`complete -c envport -n '${seen}' -f -a ${quote(words.join(" "))}`);
  }
  return `# fish completion of envport: envport completion fish | source\n${lines.join("\n")}\n`;
}
