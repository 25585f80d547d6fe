import { parseArgs } from "node:util";
import type { ArgumentSpec, Command, OptionSpec } from "./_command.ts";
import { optionsOf } from "./_command.ts";
import { usage } from "./_failure.ts";
import { suggestion } from "./_nearest.ts";

/** The words of one command line, read by what its command takes. */
export class Invocation {
  /** What stands behind `--`. */
  readonly rest: readonly string[];
  readonly #command: Command;
  readonly #options = new Map<string, string[]>();
  readonly #arguments = new Map<string, string[]>();

  /**
   * @param command What is called.
   * @param words What stands behind its name.
   * @throws {Failure} `usage`
   */
  constructor(command: Command, words: readonly string[]) {
    this.#command = command;
    const split = words.indexOf("--");
    const own = split < 0 ? words : words.slice(0, split);
    this.rest = split < 0 ? [] : words.slice(split + 1);
    const positionals = this.#readOptions(own);
    if (this.flag("help")) return;
    if (!command.rest) positionals.push(...this.rest);
    this.#readArguments(positionals);
    if (command.rest && this.rest.length === 0 && !command.rest.optional)
      throw this.#missing(command.rest, "-- ");
  }

  /** Whether a switch is on. */
  flag(name: string): boolean {
    return this.#options.has(name);
  }

  /** The value of an option; the last one counts. */
  option(name: string): string | undefined {
    return this.#options.get(name)?.at(-1);
  }

  /** The values of an option that may be given again. */
  options(name: string): readonly string[] {
    return this.#options.get(name) ?? [];
  }

  /** The value of an option that is a number. */
  number(name: string, rule: { integer?: boolean; min?: number; max?: number } = {}): number | undefined {
    const text = this.option(name);
    if (text === undefined) return undefined;
    const { integer = false, min = -Infinity, max = Infinity } = rule;
    const value = text.trim() === "" ? NaN : Number(text);
    if (value >= min && value <= max && (!integer || Number.isInteger(value))) return value;
    const kind = integer ? "a whole number" : "a number";
    const range =
      max === Infinity
        ? min === -Infinity
          ? ""
          : `, ${String(min)} or more`
        : ` from ${String(min)} to ${String(max)}`;
    throw usage(
      `Cannot use --${name} as it must be ${kind}${range}: current value is ${JSON.stringify(text)}`,
    );
  }

  /** An argument that must be there. */
  argument(name: string): string {
    return this.#arguments.get(name)![0]!;
  }

  /** An argument that may be left out. */
  optionalArgument(name: string): string | undefined {
    return this.#arguments.get(name)?.[0];
  }

  /** An argument that takes all words. */
  manyArguments(name: string): readonly string[] {
    return this.#arguments.get(name) ?? [];
  }

  #readOptions(words: readonly string[]): string[] {
    const specs = optionsOf(this.#command);
    const config = Object.fromEntries(
      specs.map(({ name, short, value }) => [
        name,
        {
          type: value === undefined ? ("boolean" as const) : ("string" as const),
          ...(short ? { short } : {}),
        },
      ]),
    );
    const { tokens } = parseArgs({ args: [...words], options: config, strict: false, tokens: true });
    const positionals: string[] = [];
    for (const token of tokens) {
      if (token.kind === "positional") positionals.push(token.value);
      if (token.kind !== "option") continue;
      const spec = specs.find(({ name }) => name === token.name);
      if (!spec) throw this.#unknown(token.rawName, specs);
      this.#take(spec, token, specs);
    }
    return positionals;
  }

  #take(
    spec: OptionSpec,
    token: { rawName: string; value?: string | undefined; inlineValue?: boolean | undefined },
    specs: readonly OptionSpec[],
  ): void {
    const { value } = token;
    if (spec.value === undefined && value !== undefined) {
      throw usage(
        `Cannot use ${token.rawName} as it takes no value: current value is ${JSON.stringify(value)}`,
      );
    }
    const isOption = !token.inlineValue && specs.some(({ name }) => value === `--${name}`);
    if (spec.value !== undefined && (value === undefined || isOption)) {
      throw usage(
        `Cannot use ${token.rawName} as it takes a value: write --${spec.name} <${spec.value}>${isOption ? `, or --${spec.name}=${value!} if that is the value` : ""}`,
      );
    }
    const values = this.#options.get(spec.name) ?? [];
    if (values.length > 0 && spec.value !== undefined && !spec.repeat) {
      throw usage(
        `Cannot use --${spec.name} twice: its values are ${[...values, value].map((one) => JSON.stringify(one)).join(" and ")}`,
      );
    }
    this.#options.set(spec.name, [...values, value ?? ""]);
  }

  #readArguments(words: string[]): void {
    for (const spec of this.#command.arguments) {
      const taken = spec.many ? words.splice(0) : words.splice(0, 1);
      if (taken.length > 0) this.#arguments.set(spec.name, taken);
      else if (!spec.optional) throw this.#missing(spec);
    }
    const { rest, path } = this.#command;
    if (words.length === 0) return;
    const where = rest
      ? `: what is to be run stands behind --, as in 'envport ${path} … -- ${words.join(" ")}'`
      : this.#seeHelp();
    throw usage(`Cannot use ${JSON.stringify(words[0])} as '${path}' takes no further argument${where}`);
  }

  #unknown(rawName: string, specs: readonly OptionSpec[]): Error {
    const word = rawName.replace(/^--?/, "");
    const found = suggestion(
      word,
      specs.map(({ name }) => name),
      "--",
    );
    return usage(
      `Cannot use ${rawName} as '${this.#command.path}' has no such option${found || this.#seeHelp()}`,
    );
  }

  #missing(spec: ArgumentSpec, prefix = ""): Error {
    const example = this.#command.examples[0]?.[0] ?? this.#command.path;
    return usage(
      `Cannot run '${this.#command.path}' as ${prefix}<${spec.name}> is missing (${spec.summary.toLowerCase()}): for example, envport ${example}`,
    );
  }

  #seeHelp(): string {
    return `: see envport ${this.#command.path} --help`;
  }
}
