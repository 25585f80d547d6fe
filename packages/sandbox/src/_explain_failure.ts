import { SandboxError } from "./sandbox_error.ts";

/** What words of bubblewrap mean. */
interface Meaning {
  readonly pattern: RegExp;
  readonly meaning: string;
  readonly remedy: string;
  /** No sandbox of any kind will start on this machine as it is. */
  readonly machine: boolean;
}

/** Most specific first. */
const MEANINGS: readonly Meaning[] = [
  {
    pattern: /loopback: Failed RTM_NEWADDR|setting up uid map: Permission denied/,
    meaning: "the system makes user namespaces powerless, as AppArmor does on Ubuntu 24.04 and later",
    remedy:
      'give bwrap an AppArmor profile ("apt-get install apparmor-profiles", then copy ' +
      "/usr/share/apparmor/extra-profiles/bwrap-userns-restrict to /etc/apparmor.d and reload), or set the sysctl " +
      "kernel.apparmor_restrict_unprivileged_userns to 0",
    machine: true,
  },
  {
    pattern:
      /No permissions to create (a )?new namespace|[Cc]reating new namespace failed: (Operation not permitted|Permission denied)/,
    meaning: "the system refuses user namespaces",
    remedy:
      "set the sysctl kernel.unprivileged_userns_clone to 1, or start the container so that it may make them " +
      "(docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined)",
    machine: true,
  },
  {
    pattern: /[Cc]reating new namespace failed: No space left on device/,
    meaning: "the number of user namespaces is used up",
    remedy: "raise the sysctl user.max_user_namespaces",
    machine: true,
  },
  {
    pattern: /Can't mount proc/,
    meaning: "the system refuses a new /proc, as containers with masked paths do",
    remedy: "start the container with --security-opt systempaths=unconfined",
    machine: true,
  },
  {
    pattern: /Unknown option --/,
    meaning: "bubblewrap is older than 0.8",
    remedy: "install a newer bubblewrap",
    machine: true,
  },
  {
    pattern: /execvp bash: No such file/,
    meaning: "there is no bash inside",
    remedy: "install bash, or mount it",
    machine: false,
  },
  {
    pattern: /execvp setpriv: No such file/,
    meaning: "root cannot be dropped on the way to a folder that the sandbox's user cannot enter",
    remedy: "install util-linux (setpriv), or move the folder",
    machine: false,
  },
];

/**
 * The error of a bubblewrap that did not come up.
 *
 * @param stderr What it wrote.
 * @param otherwise What is known where it wrote nothing.
 * @param cause The error behind.
 */
export function explainFailure(stderr: string, otherwise: string, cause?: unknown): SandboxError {
  const words = stderr.trim();
  const known = MEANINGS.find(({ pattern }) => pattern.test(words));
  return new SandboxError(
    known?.machine === true ? "unavailable" : "start-failed",
    `Cannot start the sandbox as ${known?.meaning ?? "it did not come up"}: current value is "${words === "" ? otherwise : words}"`,
    { cause, remedy: known?.remedy },
  );
}
