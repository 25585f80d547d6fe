// Brings a fresh machine to the point where everything can be built and run: pnpm, packages, system programs, build.
// Messages go to standard error; standard output belongs to the command that needed the set-up.
import { spawnSync } from "node:child_process";
import { accessSync, constants, existsSync, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { UNFINISHED } from "./unfinished.mjs";

export const root = path.resolve(import.meta.dirname, "..");

/** The exact pnpm that made the lockfile. */
const PNPM_VERSION = "12.20.0";
const OLDEST_NODE = [20, 19];

/**
 * System programs: what to look for, and the package that has it, by package manager.
 *
 * @type {Record<string, {program: string, packages: Record<string, string>}[]>}
 */
const PROGRAMS = {
  start: [
    { program: "bwrap", packages: everywhere("bubblewrap") },
    { program: "chromium", packages: everywhere("chromium") },
    {
      // What is looked for stands for the fonts: without any, Debian's browser shows boxes.
      program: "/usr/share/fonts/truetype/liberation/LiberationSans-Regular.ttf",
      packages: {
        "apt-get": "fonts-liberation",
        dnf: "liberation-fonts",
        apk: "ttf-liberation",
        pacman: "ttf-liberation",
      },
    },
    { program: "mousepad", packages: everywhere("mousepad") },
    {
      program: "Xtigervnc",
      packages: {
        "apt-get": "tigervnc-standalone-server",
        dnf: "tigervnc-server-minimal",
        apk: "tigervnc",
        pacman: "tigervnc",
      },
    },
    {
      program: "xmodmap",
      packages: { "apt-get": "x11-xserver-utils", dnf: "xmodmap", apk: "xmodmap", pacman: "xorg-xmodmap" },
    },
    {
      program: "script",
      packages: {
        "apt-get": "bsdutils",
        dnf: "util-linux-script",
        apk: "util-linux-misc",
        pacman: "util-linux",
      },
    },
  ],
  test: [
    { program: "curl", packages: everywhere("curl") },
    { program: "diff", packages: everywhere("diffutils") },
    { program: "git", packages: everywhere("git") },
    {
      program: "ip",
      packages: { "apt-get": "iproute2", dnf: "iproute", apk: "iproute2", pacman: "iproute2" },
    },
    { program: "ipcmk", packages: everywhere("util-linux") },
    { program: "less", packages: everywhere("less") },
    { program: "pasta", packages: everywhere("passt") },
    { program: "openssl", packages: everywhere("openssl") },
    { program: "perl", packages: everywhere("perl") },
    {
      program: "ps",
      packages: { "apt-get": "procps", dnf: "procps-ng", apk: "procps", pacman: "procps-ng" },
    },
    { program: "rsync", packages: everywhere("rsync") },
    {
      program: "ssh",
      packages: {
        "apt-get": "openssh-client",
        dnf: "openssh-clients",
        apk: "openssh-client",
        pacman: "openssh",
      },
    },
    {
      program: "sshd",
      packages: {
        "apt-get": "openssh-server",
        dnf: "openssh-server",
        apk: "openssh-server",
        pacman: "openssh",
      },
    },
    {
      program: "Xvfb",
      packages: { "apt-get": "xvfb", dnf: "xorg-x11-server-Xvfb", apk: "xvfb", pacman: "xorg-server-xvfb" },
    },
    { program: "x11vnc", packages: everywhere("x11vnc") },
    {
      program: "xtigervncviewer",
      packages: { "apt-get": "tigervnc-viewer", dnf: "tigervnc", apk: "tigervnc-client", pacman: "tigervnc" },
    },
    { program: "xwd", packages: { "apt-get": "x11-apps", dnf: "xwd", apk: "xwd", pacman: "xorg-xwd" } },
    { program: "xev", packages: { "apt-get": "x11-utils", dnf: "xev", apk: "xev", pacman: "xorg-xev" } },
    { program: "xterm", packages: everywhere("xterm") },
    { program: "xdotool", packages: everywhere("xdotool") },
    { program: "xclip", packages: everywhere("xclip") },
    {
      program: "dbus-launch",
      packages: { "apt-get": "dbus-x11", dnf: "dbus-x11", apk: "dbus-x11", pacman: "dbus" },
    },
    {
      program: "/usr/share/novnc/vnc.html",
      packages: { "apt-get": "novnc", dnf: "novnc", apk: "novnc", pacman: "novnc" },
    },
    { program: "websockify", packages: everywhere("websockify") },
    {
      program: "/usr/share/fonts/truetype/dejavu/DejaVuSans.ttf",
      packages: {
        "apt-get": "fonts-dejavu",
        dnf: "dejavu-sans-fonts",
        apk: "font-dejavu",
        pacman: "ttf-dejavu",
      },
    },
    {
      program: "/usr/share/fonts/opentype/noto/NotoSansCJK-Regular.ttc",
      packages: {
        "apt-get": "fonts-noto-cjk",
        dnf: "google-noto-sans-cjk-fonts",
        apk: "font-noto-cjk",
        pacman: "noto-fonts-cjk",
      },
    },
    { program: "ssh-audit", packages: everywhere("ssh-audit") },
    { program: "tmux", packages: everywhere("tmux") },
    {
      program: "/usr/lib/openssh/sftp-server",
      packages: {
        "apt-get": "openssh-sftp-server",
        dnf: "openssh-server",
        apk: "openssh-sftp-server",
        pacman: "openssh",
      },
    },
  ],
};

const MANAGERS = {
  "apt-get": { prepare: ["update", "-qq"], install: ["install", "-y", "-qq", "--no-install-recommends"] },
  dnf: { install: ["install", "-y", "-q"] },
  apk: { install: ["add", "--quiet"] },
  pacman: { install: ["-S", "--noconfirm", "--needed"] },
};

/** Where else a program may hide that is not on everybody's PATH. */
const SYSTEM_FOLDERS = ["/usr/sbin", "/sbin", "/usr/local/sbin"];

/** Where Node's headers may be: with them, ssh2's native part is compiled without a download. */
const PREFIX = path.resolve(path.dirname(process.execPath), "..");

/** The environment of every command we start: our pnpm first, no telemetry. */
export function environment() {
  const folders = [
    path.join(root, ".tools/node_modules/.bin"),
    path.join(root, "node_modules/.bin"),
    process.env.PATH,
  ];
  return {
    ...process.env,
    PATH: folders.join(path.delimiter),
    TURBO_TELEMETRY_DISABLED: "1",
    DO_NOT_TRACK: "1",
    ...(existsSync(path.join(PREFIX, "include/node/node.h")) ? { npm_config_nodedir: PREFIX } : {}),
  };
}

/**
 * Makes the machine ready; what is there already is left alone.
 *
 * @param {"start" | "test"} purpose What for.
 */
export function setUp(purpose) {
  checkNode();
  installPrograms(purpose === "test" ? [...PROGRAMS.start, ...PROGRAMS.test] : PROGRAMS.start);
  installPnpm();
  run("Installing packages", "pnpm", ["install", "--frozen-lockfile", "--reporter=append-only"]);
  const finished = UNFINISHED.map((name) => `--filter=!@envport/${name}`);
  const quiet = ["--output-logs=errors-only", "--no-update-notifier"];
  run("Building", "turbo", ["run", "build", ...quiet, ...finished]);
}

function checkNode() {
  const [major, minor] = process.versions.node.split(".").map(Number);
  const [oldestMajor, oldestMinor] = OLDEST_NODE;
  if (major > oldestMajor || (major === oldestMajor && minor >= oldestMinor)) return;
  stop(`Node ${OLDEST_NODE.join(".")} or newer is needed: this is ${process.versions.node}`);
}

function installPrograms(programs) {
  if (process.platform !== "linux") {
    say("Not on Linux: workspaces run without a sandbox here, and tests that need one fail");
    return;
  }
  const missing = programs.filter(({ program }) => !findProgram(program));
  if (missing.length === 0) return;
  const manager = Object.keys(MANAGERS).find(findProgram);
  const packages = [...new Set(missing.map((entry) => entry.packages[manager ?? "apt-get"]))];
  const names = missing.map(({ program }) => program).join(", ");
  const prefix = process.getuid() === 0 ? [] : mayUseSudo() ? ["sudo", "-n"] : undefined;
  if (!manager || !prefix) {
    const install = manager
      ? `sudo ${manager} ${MANAGERS[manager].install.filter((word) => word !== "-qq").join(" ")}`
      : "your package manager:";
    stop(`These programs are missing: ${names}\nInstall them with\n  ${install} ${packages.join(" ")}`);
  }
  const { prepare, install } = MANAGERS[manager];
  const command = (words) => [...prefix, manager, ...words];
  if (prepare) run(`Refreshing the list of ${manager}`, ...split(command(prepare)));
  run(`Installing ${packages.join(", ")}`, ...split(command([...install, ...packages])));
  const still = missing.filter(({ program }) => !findProgram(program)).map(({ program }) => program);
  if (still.length > 0) stop(`Still missing after the installation: ${still.join(", ")}`);
}

function mayUseSudo() {
  return (
    findProgram("sudo") !== undefined && spawnSync("sudo", ["-n", "true"], { stdio: "ignore" }).status === 0
  );
}

function findProgram(name) {
  const folders = [...(process.env.PATH ?? "").split(path.delimiter), ...SYSTEM_FOLDERS];
  const candidates = path.isAbsolute(name) ? [name] : folders.map((folder) => path.join(folder, name));
  return candidates.find((candidate) => {
    try {
      accessSync(candidate, path.isAbsolute(name) ? constants.F_OK : constants.X_OK);
      return true;
    } catch {
      return false;
    }
  });
}

function installPnpm() {
  const manifest = path.join(root, ".tools/node_modules/pnpm/package.json");
  if (existsSync(manifest) && JSON.parse(readFileSync(manifest, "utf8")).version === PNPM_VERSION) return;
  mkdirSync(path.join(root, ".tools"), { recursive: true });
  const words = [
    "install",
    "--prefix",
    ".tools",
    "--no-audit",
    "--no-fund",
    "--loglevel=error",
    `pnpm@${PNPM_VERSION}`,
  ];
  run(`Installing pnpm ${PNPM_VERSION}`, "npm", words);
}

/** Runs a step; its output is shown only if it fails. */
function run(what, command, args) {
  say(what);
  const options = {
    cwd: root,
    env: environment(),
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
    maxBuffer: 1 << 28,
  };
  const result = spawnSync(command, args, { ...options, shell: process.platform === "win32" });
  if (result.status === 0) return;
  process.stderr.write(
    `${result.stdout ?? ""}${result.stderr ?? ""}${result.error ? `${result.error.message}\n` : ""}`,
  );
  stop(`${what} failed: ${command} ${args.join(" ")}`);
}

function split([command, ...args]) {
  return [command, args];
}

function everywhere(name) {
  return Object.fromEntries(["apt-get", "dnf", "apk", "pacman"].map((manager) => [manager, name]));
}

function say(text) {
  process.stderr.write(`set-up: ${text}\n`);
}

function stop(text) {
  process.stderr.write(`set-up: ${text}\n`);
  process.exit(1);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) setUp("test");
