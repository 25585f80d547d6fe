/** The kernel takes 128 KiB for one argument; a longer command is passed in parts. */
const MAX_COMMAND_BYTES = 100_000;
const PART_CHARACTERS = 30_000;

const SFTP_SERVERS = [
  "/usr/lib/openssh/sftp-server",
  "/usr/libexec/openssh/sftp-server",
  "/usr/lib/ssh/sftp-server",
  "/usr/libexec/sftp-server",
];

/**
 * The program of an exec or shell request: a login shell. Profiles set `PATH` anew, so the workspace's own goes ahead of
 * theirs again before the command.
 *
 * @param command The command, or undefined for an interactive shell.
 * @param path The workspace's `PATH`.
 */
export function shellArgv(command: string | undefined, path: string): string[] {
  const setup = `export PATH=${quote(path)}:"$PATH"; `;
  if (command === undefined) return ["bash", "-lc", `${setup}exec bash`];
  if (Buffer.byteLength(command) <= MAX_COMMAND_BYTES) return ["bash", "-lc", setup + command];
  const parts = command.match(new RegExp(`[^]{1,${String(PART_CHARACTERS)}}`, "gu")) ?? [];
  return ["bash", "-lc", `${setup}eval "shift $#\n$(printf %s "$@")"`, "bash", ...parts];
}

/**
 * The program of the SFTP subsystem: OpenSSH's own server, which sees what the sandbox shows and nothing else.
 *
 * @param cwd Where relative paths start.
 */
export function sftpArgv(cwd: string): string[] {
  const search = SFTP_SERVERS.map((path) => `[ -x ${path} ] && exec ${path} -d "$0"`).join("\n");
  return [
    "sh",
    "-c",
    `${search}\necho "workspace: cannot serve SFTP: no sftp-server is installed" >&2\nexit 127`,
    cwd,
  ];
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`;
}
