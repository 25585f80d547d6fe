/** Words that mean themselves in a POSIX shell, wherever they stand after the first. */
const PLAIN = /^[\w@%+:,./-]+$/;

/**
 * One word for a POSIX shell.
 *
 * @throws {TypeError} If it holds a NUL, which no program's argument can.
 */
export function quoteWord(word: string): string {
  if (word.includes("\0")) {
    throw new TypeError(
      `Cannot quote argument as it must hold no NUL: current value is ${JSON.stringify(word)}`,
    );
  }
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}

/**
 * An argument list as a command of a POSIX shell. The program's name is always quoted, so that no keyword, alias or
 * assignment takes its place.
 *
 * @throws {TypeError} If the list is empty, or an argument holds a NUL.
 */
export function quoteCommand(argv: readonly string[]): string {
  const [program, ...rest] = argv;
  if (program === undefined || program === "") {
    throw new TypeError(
      `Cannot run command as it must name a program: current value is ${JSON.stringify(argv)}`,
    );
  }
  const plain = quoteWord(program);
  return [plain.startsWith("'") ? plain : `'${plain}'`, ...rest.map(quoteWord)].join(" ");
}
