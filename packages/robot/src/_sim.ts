import type { AbortOptions, JsonObject, PublishedCapability } from "@envport/wire";
import type { ClaimedSlot } from "./_robot_host.ts";
import type { RobotGrade } from "./robot_bridge.ts";

/** A simulator as an endpoint drives it, wherever it runs. */
export interface Sim {
  /** Resolves when it is gone: to undefined after a `stop`, else to the reason. */
  readonly closed: Promise<Error | undefined>;
  /** What it serves; the robot under this name. */
  capabilities(name: string): Promise<PublishedCapability[]>;
  /** @throws {ProtocolError} What it answers; with "slots are claimed" in it, one has to try again. */
  reset(args: JsonObject): Promise<ClaimedSlot>;
  result(token: string | null): Promise<RobotGrade>;
  /** Gives a slot up. */
  release(token: string): Promise<void>;
  stop(): Promise<void>;
}

/** How a simulator comes up. */
export type StartSim = (options: AbortOptions) => Promise<Sim>;
