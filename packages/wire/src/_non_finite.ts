/** A message holds a number that JSON cannot say: NaN or an infinity (FRAME-10). */
export class NonFiniteNumberError extends TypeError {
  /** Where it stands: `result.scores[2]`. */
  readonly path: string;

  constructor(path: string, value: number) {
    super(`Cannot send ${path} as JSON has only finite numbers: current value is ${String(value)}`);
    this.path = path;
  }
}

/**
 * Looks for a number that `JSON.stringify` would silently turn into null.
 *
 * @param message What is going to be sent.
 * @throws {NonFiniteNumberError} If there is one.
 */
export function checkFinite(message: object): void {
  const paths = new Map<unknown, string>();
  JSON.stringify(message, function (this: unknown, key: string, value: unknown) {
    const path = join(paths.get(this), key, this);
    if (typeof value === "number" && !Number.isFinite(value)) throw new NonFiniteNumberError(path, value);
    if (typeof value === "object" && value !== null) paths.set(value, path);
    return value;
  });
}

function join(parent: string | undefined, key: string, holder: unknown): string {
  if (!parent) return key;
  return Array.isArray(holder) ? `${parent}[${key}]` : `${parent}.${key}`;
}
