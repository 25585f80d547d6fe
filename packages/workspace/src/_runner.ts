import type { SandboxCommand, SandboxProcess } from "@envport/sandbox";
import type { AbortOptions } from "@envport/wire";
import type { Duplex } from "node:stream";

/** Where sessions run: a sandbox, or the host itself if that was asked for. */
export interface Runner {
  start(options?: AbortOptions): Promise<void>;
  spawn(command: SandboxCommand, options?: AbortOptions): Promise<SandboxProcess>;
  connect(port: number, options?: AbortOptions): Promise<Duplex>;
  stop(): Promise<void>;
}
