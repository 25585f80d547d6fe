import type { TokenSource } from "@envport/wire";

/** What the holder of a token may do (SESS-10): everything, or open listed capabilities and nothing else. */
export type Role = "orchestrator" | "agent";

/** The tokens that let somebody in, by role; several of a role are several holders, who do not see each other's tasks. */
export type AccessTokens = Partial<Readonly<Record<Role, TokenSource | readonly TokenSource[]>>>;
