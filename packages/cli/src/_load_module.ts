import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Failure, messageOf } from "./_failure.ts";
import type { ModuleRef } from "./_module_ref.ts";
import { withPlace } from "./_place_of.ts";

/** Options of {@linkcode loadModule}. */
export interface LoadModuleOptions {
  /** Called with each file of the user's that is read, also if that fails. */
  onFile?: ((file: string) => void) | undefined;
}

/**
 * Imports a module of the user's, TypeScript included, in this process.
 *
 * @param ref Which.
 * @param options Who wants to know what is read.
 * @returns Its exports by name.
 * @throws {Failure} `load-failed` With where and why, and what to do.
 */
export async function loadModule(
  ref: ModuleRef,
  { onFile }: LoadModuleOptions = {},
): Promise<Readonly<Record<string, unknown>>> {
  onFile?.(ref.file);
  try {
    await registerTypeScript(tsconfigOf(ref.file), (file) => onFile?.(file));
    return exportsOf((await import(pathToFileURL(ref.file).href)) as Record<string, unknown>);
  } catch (error) {
    throw new Failure("load-failed", `Cannot load ${JSON.stringify(ref.shown)}: ${explain(error, ref)}`, {
      cause: error,
    });
  }
}

/** Lets this process import TypeScript; only commands that load a module pay for the loader. */
async function registerTypeScript(
  tsconfig: string | undefined,
  onFile: (file: string) => void,
): Promise<void> {
  const [forRequire, forImport] = await Promise.all([import("tsx/cjs/api"), import("tsx/esm/api")]);
  forRequire.register();
  forImport.register({
    tsconfig: tsconfig ?? false,
    onImport: (url) => {
      if (url.startsWith("file:") && !url.includes("/node_modules/")) onFile(fileURLToPath(url));
    },
  });
}

/** A CommonJS module that was TypeScript has its exports below `default`. */
function exportsOf(module: Record<string, unknown>): Readonly<Record<string, unknown>> {
  const { default: inner } = module;
  const isWrapped = Object.keys(module).every((key) => key === "default" || key === "module.exports");
  const isNamespace = typeof inner === "object" && inner !== null && Object.hasOwn(inner, "__esModule");
  return isWrapped && isNamespace ? { ...(inner as Record<string, unknown>) } : module;
}

function explain(error: unknown, ref: ModuleRef): string {
  const message = messageOf(error)
    .replace(/^Transform failed with \d+ errors?:\n/, "")
    .trim();
  const { code } = error as { code?: unknown };
  const folder = path.dirname(ref.file);
  if (
    /Top-level await is currently not supported with the "cjs"/.test(message) ||
    code === "ERR_REQUIRE_ASYNC_MODULE"
  ) {
    const manifest = nearestFile(ref.file, "package.json");
    const where = manifest === undefined ? `a package.json in ${folder}` : manifest;
    return `it awaits at its top level, which only ES modules may: put "type": "module" into ${where}`;
  }
  const missing = /^Cannot find package '([^']+)'/.exec(message)?.[1];
  if (missing !== undefined)
    return `package '${missing}' is not installed: run npm install ${missing} in ${projectOf(ref.file)}`;
  return withPlace(message, error, folder);
}

function projectOf(file: string): string {
  const manifest = nearestFile(file, "package.json");
  return manifest === undefined ? path.dirname(file) : path.dirname(manifest);
}

/** The project's own; what lies above it is somebody else's. */
function tsconfigOf(file: string): string | undefined {
  const found = nearestFile(file, "tsconfig.json");
  return found?.startsWith(`${projectOf(file)}/`) ? found : undefined;
}

/** The nearest file of a name in the folders above a file. */
function nearestFile(file: string, name: string): string | undefined {
  const folder = path.dirname(file);
  const candidate = path.join(folder, name);
  if (existsSync(candidate)) return candidate;
  return folder === path.dirname(folder) ? undefined : nearestFile(folder, name);
}

/** Whether a file's text calls `serve(` itself: the usual reason for which it exports nothing. */
export function servesItself(file: string): boolean {
  return /\bserve\s*\(/.test(readFileSync(file, "utf8"));
}
