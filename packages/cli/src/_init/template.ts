/** What one capability adds to a new environment folder; `_init/templates.ts` has them all. */
export interface Template {
  /** The word of `--with`. */
  readonly name: string;
  /** What it is, for the question. */
  readonly summary: string;
  /** Templates that it does not work without. */
  readonly needs: readonly string[];
  /** The packages that its code imports, without the scope. */
  readonly packages: readonly string[];
  /** Packages of others that its code imports, with their versions; a test holds them to the catalog. */
  readonly libraries?: Readonly<Record<string, string>> | undefined;
  /** Programs that have to be on the machine, as Debian calls their packages. */
  readonly programs?: readonly string[] | undefined;
  /** Its part of env.ts. */
  readonly environment?: Part | undefined;
  /** Its task, and how the agent does it: a case of the agent's switch. */
  readonly agent?: (Part & { readonly task: string }) | undefined;
  /** Its part of env.test.ts, besides what is tested of every task. */
  readonly test?: Part | undefined;
}

/** A part of a file. */
export interface Part {
  readonly imports: readonly string[];
  readonly code: string;
}
