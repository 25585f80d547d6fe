import { createHash, timingSafeEqual } from "node:crypto";
import type { Capability, JsonObject, TokenSource } from "@envport/wire";
import { ErrorCode, ProtocolError, own, protocolFamily, readToken } from "@envport/wire";
import { GuessBrake } from "./_guess_brake.ts";
import type { AccessTokens, Role } from "./access_tokens.ts";

/** Who speaks on a connection. */
export interface Principal {
  readonly role: Role;
  /** Tells the holders of tokens apart: sessions are bound to them (SESS-10). */
  readonly holder: string;
}

/** Everyone, where no token is set. */
const ANYONE: Principal = { role: "orchestrator", holder: "" };
const ROLES: readonly Role[] = ["orchestrator", "agent"];

/** Lets those in who carry a token in their first frame (SESS-10). */
export class Access {
  readonly #entries: readonly { digest: Buffer; principal: Principal }[] | undefined;
  readonly #brake = new GuessBrake();

  /**
   * Reads the tokens; variables of the environment are removed.
   *
   * @param tokens The tokens; undefined lets everyone in.
   * @throws {TypeError} If there is none, or one is empty, unreadable or given twice.
   */
  constructor(tokens: AccessTokens | undefined) {
    this.#entries = tokens && readTokens(tokens);
  }

  /**
   * Finds out who speaks.
   *
   * @param method The first frame's method.
   * @param params Its params, with the token.
   * @param source Where the connection comes from: wrong tokens slow it down.
   * @throws {ProtocolError} -32001, with the same text for a missing and a wrong token.
   */
  async identify(method: string, params: JsonObject, source: string): Promise<Principal> {
    if (!this.#entries) return ANYONE;
    const token = own(params, "token");
    const mayCarry = method === "hello" || method === "tunnel.open";
    if (!mayCarry || typeof token !== "string") throw unauthorized();
    await this.#brake.pass(source);
    const digest = digestOf(token);
    let found: Principal | undefined;
    // Every one is compared, whichever fits: the time tells nothing.
    for (const entry of this.#entries) if (timingSafeEqual(entry.digest, digest)) found = entry.principal;
    if (found) return found;
    this.#brake.fail(source);
    throw unauthorized();
  }
}

/** Whether somebody may see and open a capability: what watches an agent is not the agent's to open. */
export function mayReach({ role }: Principal, { protocol }: Capability): boolean {
  return role === "orchestrator" || protocolFamily(protocol) !== "filetracking";
}

function readTokens(tokens: AccessTokens): { digest: Buffer; principal: Principal }[] {
  const entries = ROLES.flatMap((role) => {
    const sources = tokens[role];
    const list = sources === undefined ? [] : isList(sources) ? sources : [sources];
    return list.map((source, index) => ({
      digest: digestOf(readToken(source)),
      principal: { role, holder: `${role} ${String(index)}` },
    }));
  });
  if (entries.length === 0) {
    throw new TypeError(
      "Cannot serve as 'tokens' must have an orchestrator's or an agent's token: current value is none",
    );
  }
  const distinct = new Set(entries.map(({ digest }) => digest.toString("hex")));
  if (distinct.size < entries.length)
    throw new TypeError("Cannot serve as no token of 'tokens' may be there twice");
  return entries;
}

function isList(sources: TokenSource | readonly TokenSource[]): sources is readonly TokenSource[] {
  return Array.isArray(sources);
}

function digestOf(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

function unauthorized(): ProtocolError {
  return new ProtocolError(ErrorCode.unauthorized, "authentication required", { type: "unauthorized" });
}
