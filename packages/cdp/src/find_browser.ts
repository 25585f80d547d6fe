import { accessSync, constants, existsSync, realpathSync, statSync } from "node:fs";
import { homedir } from "node:os";
import { delimiter, isAbsolute, join } from "node:path";
import { EnvportError } from "@envport/wire";

/** A browser on this machine. */
export interface FoundBrowser {
  /** Its program. */
  readonly path: string;
  /** What led there: `executablePath`, the name of a variable, `playwright-core`, `PATH`, or `usual places`. */
  readonly source: string;
}

/** Options of {@linkcode findBrowser}. */
export interface FindBrowserOptions {
  /** This one and no other. */
  executablePath?: string | undefined;
  /**
   * Variables: `CHROME_PATH`, `PUPPETEER_EXECUTABLE_PATH`, `CHROME_BIN`, `PATH`.
   *
   * @default {process.env}
   */
  env?: Readonly<Record<string, string | undefined>> | undefined;
}

const VARIABLES = ["CHROME_PATH", "PUPPETEER_EXECUTABLE_PATH", "CHROME_BIN"];
const NAMES = [
  "google-chrome-stable",
  "google-chrome",
  "chromium",
  "chromium-browser",
  "chrome",
  "microsoft-edge-stable",
  "microsoft-edge",
  "brave-browser",
  "chromium-headless-shell",
];
const INSTALL: Readonly<Partial<Record<NodeJS.Platform, string>>> = {
  linux: "apt-get install chromium (Debian), or npx playwright-core install --with-deps chromium",
  darwin: "brew install --cask chromium, or npx playwright-core install chromium",
  win32: "winget install Google.Chrome, or npx playwright-core install chromium",
};

/**
 * Finds a browser of the Chromium family: by option, by variable (one that names nothing is passed over), Playwright's own
 * download, `PATH`, the usual places. Ubuntu's snap is passed over: it is confined, and cannot use a profile of ours.
 *
 * @param options A path that is meant and no other, and the variables.
 * @throws {EnvportError} `service-failed` If there is none; the message says where it was looked for, and how to install one.
 *
 * @example
 * ```ts
 * import { findBrowser } from "@envport/cdp";
 * import assert from "node:assert/strict";
 *
 * await assert.rejects(findBrowser({ executablePath: "/no/such/browser" }), { code: "service-failed" });
 * ```
 */
export async function findBrowser(options: FindBrowserOptions = {}): Promise<FoundBrowser> {
  const { executablePath, env = process.env } = options;
  if (executablePath !== undefined) {
    const why = obstacle(executablePath);
    if (why === undefined) return { path: executablePath, source: "executablePath" };
    throw new EnvportError(
      "service-failed",
      `Cannot use browser as 'executablePath' ${why}: current value is ${JSON.stringify(executablePath)}`,
    );
  }
  const tried: string[] = [];
  for (const { path, source } of await candidates(env)) {
    const why = obstacle(path);
    if (why === undefined) return { path, source };
    if (!/^(?:does not exist|cannot be reached)/.test(why) || VARIABLES.includes(source))
      tried.push(`${path} (${source}, ${why})`);
  }
  const install = INSTALL[process.platform] ?? "npx playwright-core install chromium";
  throw new EnvportError(
    "service-failed",
    `Cannot find a browser as neither ${VARIABLES.join(", ")}, Playwright's download, PATH nor the usual places have one. ` +
      `Install one: ${install}; or name it by 'executablePath' or CHROME_PATH` +
      (tried.length === 0 ? "" : `. Passed over: ${tried.join(", ")}`),
  );
}

async function candidates(env: Readonly<Record<string, string | undefined>>): Promise<FoundBrowser[]> {
  const named = VARIABLES.flatMap((source) => (env[source] ? [{ path: env[source], source }] : []));
  const downloaded = await playwrightsOwn(env);
  const folders = (env["PATH"] ?? "").split(delimiter).filter((folder) => isAbsolute(folder));
  const inPath = NAMES.flatMap((name) => folders.map((folder) => join(folder, name)));
  return [
    ...named,
    ...(downloaded === undefined ? [] : [{ path: downloaded, source: "playwright-core" }]),
    ...(process.platform === "win32" ? [] : inPath.map((path) => ({ path, source: "PATH" }))),
    ...usualPlaces(env).map((path) => ({ path, source: "usual places" })),
  ];
}

/** Where Playwright has put its browser; asked only where it has put any, since the question takes a second. */
async function playwrightsOwn(
  env: Readonly<Record<string, string | undefined>>,
): Promise<string | undefined> {
  const cache =
    process.platform === "darwin"
      ? join(homedir(), "Library/Caches")
      : (env[process.platform === "win32" ? "LOCALAPPDATA" : "XDG_CACHE_HOME"] ?? join(homedir(), ".cache"));
  if (!env["PLAYWRIGHT_BROWSERS_PATH"] && !existsSync(join(cache, "ms-playwright"))) return undefined;
  try {
    const { chromium } = await import("playwright-core");
    return chromium.executablePath();
  } catch {
    return undefined;
  }
}

function usualPlaces(env: Readonly<Record<string, string | undefined>>): string[] {
  switch (process.platform) {
    case "darwin":
      return ["Google Chrome", "Google Chrome for Testing", "Chromium", "Microsoft Edge"].flatMap((name) =>
        ["/", homedir()].map((root) => join(root, "Applications", `${name}.app/Contents/MacOS/${name}`)),
      );
    case "win32":
      return ["LOCALAPPDATA", "PROGRAMFILES", "PROGRAMFILES(X86)"].flatMap((variable) => {
        const root = env[variable];
        if (!root) return [];
        return [
          join(root, "Google\\Chrome\\Application\\chrome.exe"),
          join(root, "Chromium\\Application\\chrome.exe"),
          join(root, "Microsoft\\Edge\\Application\\msedge.exe"),
        ];
      });
    default:
      return ["/opt/google/chrome/chrome", "/usr/lib/chromium/chromium", "/opt/microsoft/msedge/msedge"];
  }
}

/** Why this is no browser to use; undefined where it is. */
function obstacle(path: string): string | undefined {
  if (!isAbsolute(path)) return "is not absolute";
  try {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found === undefined) return "does not exist";
    if (!found.isFile()) return "is no file";
  } catch {
    return "cannot be reached by this user";
  }
  try {
    accessSync(path, process.platform === "win32" ? constants.F_OK : constants.X_OK);
  } catch {
    return "is not executable";
  }
  return /[/\\]snap[/\\]|\/bin\/snap$/.test(realpathSync(path)) ? "is a snap, which is confined" : undefined;
}
