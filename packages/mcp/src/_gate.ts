import {
  localhostAllowedHostnames,
  validateHostHeader,
  validateOriginHeader,
} from "@modelcontextprotocol/server";
import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";

/** Why a request is turned away. */
export interface Refusal {
  readonly status: number;
  readonly message: string;
  /**
   * Of JSON-RPC.
   *
   * @default {-32000}
   */
  readonly code?: number;
}

/** Options of {@linkcode Gate}. */
export interface GateOptions {
  path: string;
  /** Host names, without ports, beside those of this machine. */
  allowedHostnames: readonly string[];
  authToken: string | undefined;
}

/**
 * Decides who comes in, before anything of a request is read. Hosts are told apart by name: a forwarder changes the port,
 * and a web page that rebinds DNS cannot change the name.
 */
export class Gate {
  readonly #path: string;
  readonly #hostnames: string[];
  readonly #token: Buffer | undefined;

  constructor({ path, allowedHostnames, authToken }: GateOptions) {
    this.#path = path;
    this.#hostnames = [...localhostAllowedHostnames(), ...allowedHostnames];
    this.#token = authToken === undefined ? undefined : digest(authToken);
  }

  /** Whether, and why, to turn a request away. */
  check({ url = "/", headers }: IncomingMessage): Refusal | undefined {
    const host = validateHostHeader(headers.host, this.#hostnames);
    if (!host.ok) return { status: 403, message: host.message };
    const origin = validateOriginHeader(headers.origin, this.#hostnames);
    if (!origin.ok) return { status: 403, message: origin.message };
    if (!this.#knows(headers.authorization)) {
      return { status: 401, message: "Unauthorized: a bearer token is required" };
    }
    const path = url.split("?", 1)[0]!;
    if (path !== this.#path && path !== `${this.#path}/`) return { status: 404, message: "Not found" };
    return undefined;
  }

  /** Compares digests, so that neither time nor length tells of the token. */
  #knows(authorization: string | undefined): boolean {
    if (!this.#token) return true;
    const [, token] = /^bearer +(\S+) *$/i.exec(authorization ?? "") ?? [];
    return token !== undefined && timingSafeEqual(digest(token), this.#token);
  }
}

function digest(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}
