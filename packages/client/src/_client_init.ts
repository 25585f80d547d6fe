import type { Logger } from "@envport/wire";
import type { ControlConnection } from "./_control_connection.ts";
import type { Endpoint } from "./_dial.ts";

/** What a client is made of. */
export interface ClientInit {
  endpoint: Endpoint;
  /** Opens another control connection that speaks for a session. */
  reconnect(this: void, sessionId: string, signal: AbortSignal): Promise<ControlConnection>;
  /** In milliseconds; 0 = none. */
  heartbeatInterval: number;
  route: "tunnel" | "direct";
  logger: Logger;
  /** Whether the session holds a task that an earlier client started. */
  resumed: boolean;
}
