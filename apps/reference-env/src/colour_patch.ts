const RESET = "\u001b[0m";
/** The first rule that a line begins with has its colour. */
const COLOURS: readonly [start: RegExp, colour: string][] = [
  [/^(?:diff |index |--- |\+\+\+ |(?:new|deleted) file mode |(?:old|new) mode )/, "\u001b[1m"],
  [/^@@/, "\u001b[36m"],
  [/^\+/, "\u001b[32m"],
  [/^-/, "\u001b[31m"],
];

/**
 * A patch with the colours that `git diff` has on a terminal.
 *
 * @param patch A unified diff with git's headers.
 */
export function colourPatch(patch: string): string {
  return patch.replaceAll(/^.+$/gm, (line) => {
    const colour = COLOURS.find(([start]) => start.test(line))?.[1];
    return colour === undefined ? line : `${colour}${line}${RESET}`;
  });
}
