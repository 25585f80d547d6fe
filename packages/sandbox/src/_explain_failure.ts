/** What bubblewrap's words mean and what to do about them, most specific first. */
const MEANINGS: readonly { readonly pattern: RegExp; readonly meaning: string }[] = [
  {
    pattern: /loopback: Failed RTM_NEWADDR|setting up uid map: Permission denied/,
    meaning:
      "the system lets bubblewrap make user namespaces but not use them, as Ubuntu 24.04 and later do through AppArmor: " +
      'install an AppArmor profile for bwrap ("apt-get install apparmor-profiles", then enable bwrap-userns-restrict), ' +
      "or set the sysctl kernel.apparmor_restrict_unprivileged_userns to 0",
  },
  {
    pattern:
      /No permissions to create (a )?new namespace|Creating new namespace failed: (Operation not permitted|Permission denied)/,
    meaning:
      "the system refuses user namespaces: set the sysctl kernel.unprivileged_userns_clone to 1, or start the container " +
      "with a seccomp profile that allows them (docker run --security-opt seccomp=unconfined)",
  },
  {
    pattern: /No space left on device/,
    meaning: "the number of user namespaces is used up: raise the sysctl user.max_user_namespaces",
  },
  {
    pattern: /Can't mount proc|mounting proc|Failed to mount proc/i,
    meaning:
      "the system refuses a new /proc, as containers with masked paths do: start the container with --security-opt systempaths=unconfined",
  },
  {
    pattern: /Unknown option (--disable-userns|--size|--perms)/,
    meaning: "bubblewrap is older than 0.8: install a newer one",
  },
  {
    pattern: /execvp bash|bash: No such file/,
    meaning: "the sandbox shows no bash: install bash, or mount it",
  },
  {
    pattern: /setpriv/,
    meaning:
      "root cannot be dropped: install util-linux, or move what is mounted to where the sandbox's user can enter",
  },
];

/**
 * One sentence on why bubblewrap did not come up.
 *
 * @param stderr What it wrote.
 * @param otherwise What is known where it wrote nothing.
 */
export function explainFailure(stderr: string, otherwise: string): string {
  const words = stderr.trim();
  const meaning = MEANINGS.find(({ pattern }) => pattern.test(words))?.meaning;
  const sentence = `Cannot start the sandbox: ${words === "" ? otherwise : words}`;
  return meaning === undefined ? sentence : `${sentence} (${meaning})`;
}
