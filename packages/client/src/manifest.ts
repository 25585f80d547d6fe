import type { Capability, JsonObject } from "@envport/wire";

/** What an environment says of itself and of the session in its reply to `hello` (SESS-1, SESS-9). */
export interface Manifest {
  /** Whoever knows it can resume the session. */
  sessionId: string;
  environment: { name: string; version: string };
  /** The capabilities, as the environment published them. */
  bindings: Capability[];
  /** `"envport/1"` or whatever the server calls it; undefined for a server that does not say. */
  protocol: string | undefined;
  /** What the server can do beyond the base contract: `{cancel: true, ping: true, …}`; empty if it does not say. */
  capabilities: JsonObject;
}
