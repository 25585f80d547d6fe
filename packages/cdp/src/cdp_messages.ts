import type { AbortOptions } from "@envport/wire";
import type { ProtocolMapping } from "devtools-protocol/types/protocol-mapping.js";

/** Every command of the protocol, by name: its parameters and its result. */
export type CdpCommands = ProtocolMapping.Commands;

/** Every event of the protocol, by name, as the arguments of a listener. */
export type CdpEvents = { [E in keyof ProtocolMapping.Events]: ProtocolMapping.Events[E] };

/** Options of a command. */
export interface CdpSendOptions extends AbortOptions {
  /**
   * Milliseconds that the answer may take.
   *
   * @default the client's `timeout`, 30 s
   */
  timeout?: number | undefined;
}

/** What follows the name of a command: parameters, which may be left out where all are optional, and options. */
export type CdpSendArguments<M extends keyof CdpCommands> = CdpCommands[M]["paramsType"] extends [
  infer P extends object,
]
  ? [params: P, options?: CdpSendOptions]
  : [params?: NonNullable<CdpCommands[M]["paramsType"][0]> | undefined, options?: CdpSendOptions];

/** What a command returns. */
export type CdpResult<M extends keyof CdpCommands> = CdpCommands[M]["returnType"];
