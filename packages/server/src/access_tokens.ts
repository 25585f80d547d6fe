/** What the holder of a token may do (SESS-10): everything, or open listed capabilities and nothing else. */
export type Role = "orchestrator" | "agent";

/**
 * Where a token is: itself, a file that holds it, or a variable of the environment, which is removed from `process.env`
 * when it is read.
 */
export type TokenSource = string | { readonly file: string } | { readonly env: string };

/** The tokens that let somebody in, by role; several of a role are several holders, who do not see each other's tasks. */
export type AccessTokens = Partial<Readonly<Record<Role, TokenSource | readonly TokenSource[]>>>;
