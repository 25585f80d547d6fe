import { accessSync, constants, readFileSync, realpathSync, statSync } from "node:fs";
import { SandboxError } from "./sandbox_error.ts";

/** How to install bubblewrap, by the `ID` and `ID_LIKE` of `/etc/os-release`. */
const INSTALL: readonly (readonly [system: RegExp, line: string])[] = [
  [/debian|ubuntu/, "apt-get install -y bubblewrap"],
  [/fedora|rhel|centos/, "dnf install -y bubblewrap"],
  [/alpine/, "apk add bubblewrap"],
  [/arch/, "pacman -S --noconfirm bubblewrap"],
  [/suse/, "zypper install -y bubblewrap"],
];

/**
 * The real path of bubblewrap.
 *
 * @param path Where it is said to be; looked up in `PATH` otherwise.
 * @throws {SandboxError} If there is none or it is set-user-ID, code `unavailable`.
 */
export function findBwrap(path?: string): string {
  if (process.platform !== "linux") {
    throw new SandboxError(
      "unavailable",
      `Cannot sandbox as bubblewrap needs Linux: current value is "${process.platform}"`,
      {
        remedy: "run it in a Linux container or virtual machine",
      },
    );
  }
  const found = (path === undefined ? searchPath("bwrap") : [path]).find(isExecutable);
  if (found === undefined) {
    throw new SandboxError("unavailable", "Cannot sandbox as bubblewrap (bwrap) is not installed", {
      remedy: `install it: ${installLine()}`,
    });
  }
  const real = realpathSync(found);
  const { mode } = statSync(real);
  if ((mode & 0o4000) !== 0) {
    throw new SandboxError(
      "unavailable",
      `Cannot sandbox as bubblewrap is set-user-ID root: current value is "${real}"`,
      {
        remedy: `drop that bit where user namespaces are allowed: chmod u-s ${real}`,
      },
    );
  }
  return real;
}

const searchPath = (name: string): string[] =>
  [...(process.env.PATH ?? "").split(":"), "/usr/local/bin", "/usr/bin", "/bin"]
    .filter((folder) => folder.startsWith("/"))
    .map((folder) => `${folder}/${name}`);

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** The line that installs bubblewrap on this system. */
export function installLine(osRelease = "/etc/os-release"): string {
  let ids = "";
  try {
    ids =
      readFileSync(osRelease, "utf8")
        .match(/^ID(_LIKE)?=.*$/gm)
        ?.join(" ") ?? "";
  } catch {
    // A system without the file.
  }
  return (
    INSTALL.find(([system]) => system.test(ids))?.[1] ??
    "with the system's package manager, package bubblewrap"
  );
}
