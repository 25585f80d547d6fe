/**
 * The `ssh/2` capability: a factory that describes an SSH server, and a client that runs commands on it.
 *
 * @module
 */
export { collectOutput } from "./collect_output.ts";
export type { CollectOptions, CommandProcess, CommandResult, ExitStatus } from "./collect_output.ts";
export { FileError } from "./file_error.ts";
export type { FileErrorCode } from "./file_error.ts";
export type { FileEntry, FileStats } from "./file_stats.ts";
export { generateSshKeyPair } from "./generate_ssh_key_pair.ts";
export type { SshKeyPair } from "./generate_ssh_key_pair.ts";
export { PortForward } from "./port_forward.ts";
export type { PortForwardOptions } from "./port_forward.ts";
export { RemoteProcess } from "./remote_process.ts";
export { ssh } from "./ssh.ts";
export { sshCapability } from "./ssh_capability.ts";
export type { SshCapabilityOptions } from "./ssh_capability.ts";
export { SshClient } from "./ssh_client.ts";
export type {
  ForwardOptions,
  PtyOptions,
  ReadFileOptions,
  RunOptions,
  ShellOptions,
  SpawnOptions,
  SshConnectOptions,
  WriteFileOptions,
} from "./ssh_client_options.ts";
