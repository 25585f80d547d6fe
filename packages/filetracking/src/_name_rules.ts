import type { Ignore } from "ignore";
import ignore from "ignore";
import type { ByteString } from "./_names.ts";
import { joinPath, toText } from "./_names.ts";

/** Folders that tools make and make again. */
const BUILT_FOLDERS = new Set([
  "node_modules",
  ".venv",
  "__pycache__",
  ".cache",
  ".npm",
  ".hud",
  ".tmp",
  ".gradle",
  ".tox",
  ".nox",
  ".pytest_cache",
  ".mypy_cache",
  ".ruff_cache",
  ".ipynb_checkpoints",
  ".terraform",
  ".next",
  ".nuxt",
  ".svelte-kit",
  ".output",
  ".turbo",
  ".parcel-cache",
  ".pnpm-store",
  ".nyc_output",
]);

/** What version control keeps, as a folder or, in a worktree, as a file. */
const VERSION_CONTROL = new Set([".git", ".hg", ".svn", ".jj", ".bzr", "CVS", "_darcs"]);

/** Files that compilers make. */
const BUILT_FILE = /\.(?:pyc|pyo|so|o|a|class|dll|dylib|exe)$/;

/** Files that hold credentials, whatever case they are written in. */
const SECRET_FILES = [
  ".env*",
  "*.pem",
  "*.key",
  "*.p12",
  "*.pfx",
  "*.jks",
  "*.keystore",
  "*.kdbx",
  "id_*",
  "*_key*",
  "credentials*",
  ".credentials*",
  ".netrc",
  "_netrc",
  ".git-credentials",
  ".gitconfig",
  ".gitmodules",
  ".npmrc",
  ".pypirc",
  ".pgpass",
  ".my.cnf",
  ".htpasswd",
  ".dockercfg",
  ".vault-token",
];

/** Folders all of whose files are secret. */
const SECRET_FOLDERS = [
  ".env*",
  ".ssh",
  ".aws",
  ".azure",
  ".gcloud",
  ".gnupg",
  ".kube",
  ".docker",
  "credentials*",
  ".credentials*",
];

const SECRET_FILE = globs(SECRET_FILES);
const SECRET_FOLDER = globs(SECRET_FOLDERS);

/** Further patterns, as in `.gitignore` at the root. */
export interface NameRulesOptions {
  readonly exclude?: readonly string[] | undefined;
  readonly secrets?: readonly string[] | undefined;
}

/** What is known by name alone: what is not tracked, and what is tracked but never read. */
export class NameRules {
  readonly #exclude: Ignore | undefined;
  readonly #secrets: Ignore | undefined;

  constructor({ exclude = [], secrets = [] }: NameRulesOptions = {}) {
    if (exclude.length > 0) this.#exclude = ignore({ ignorecase: false }).add(exclude);
    if (secrets.length > 0) this.#secrets = ignore().add(secrets);
  }

  /** Whether something is not tracked at all. */
  excludes(folder: ByteString, name: ByteString, isFolder: boolean): boolean {
    if (VERSION_CONTROL.has(name)) return true;
    if (isFolder ? BUILT_FOLDERS.has(name) : BUILT_FILE.test(name)) return true;
    return this.#exclude !== undefined && matches(this.#exclude, folder, name, isFolder);
  }

  /** Whether a file, or every file below a folder, is secret. */
  isSecret(folder: ByteString, name: ByteString, isFolder: boolean): boolean {
    if ((isFolder ? SECRET_FOLDER : SECRET_FILE).test(name)) return true;
    return this.#secrets !== undefined && matches(this.#secrets, folder, name, isFolder);
  }
}

function matches(rules: Ignore, folder: ByteString, name: ByteString, isFolder: boolean): boolean {
  return rules.test(toText(joinPath(folder, name)) + (isFolder ? "/" : "")).ignored;
}

function globs(names: readonly string[]): RegExp {
  const sources = names.map((name) => name.replaceAll(".", "\\.").replaceAll("*", ".*"));
  return new RegExp(`^(?:${sources.join("|")})$`, "is");
}
