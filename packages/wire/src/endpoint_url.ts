import { parseCapabilityUrl } from "./capability_url.ts";

/** Where a control port is, and by which transport (CONN-5). */
export type EndpointUrl =
  | { readonly scheme: "tcp" | "tls"; readonly host: string; readonly port: number }
  | { readonly scheme: "ws" | "wss"; readonly host: string; readonly port: number; readonly path: string }
  | { readonly scheme: "unix"; readonly path: string };

/** The port of a control port's URL without one, by scheme. */
const DEFAULT_PORTS: Readonly<Record<string, number>> = { tcp: 8765, tls: 8765, ws: 80, wss: 443 };
const UNIX_REGEXP = /^unix:(?:\/\/)?(\/[^]*)$/i;
/** Port 0, which stands for any port, is no port of a capability's URL. */
const ANY_PORT_REGEXP = /^([a-z]+:\/\/(?:\[[^\]]*\]|[^:/?#]*)):0+(?=$|\/)/i;
/** The longest path of a unix socket, in bytes. */
const MAX_PATH_BYTES = 107;

/**
 * Reads the address of a control port: `tcp://host:port`, `tls://host:port`, `ws://host:port/path`, `wss://…` or
 * `unix:///path`. Without a scheme it is `tcp`; without a port it is 8765, or 80 and 443 for `ws` and `wss`.
 *
 * @param url The address; port 0 is any port, for whoever listens.
 * @throws {TypeError} If it cannot be read, or its scheme is none of these.
 *
 * @example
 * ```ts
 * import { parseEndpointUrl } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * assert.deepEqual(parseEndpointUrl("[::1]"), { scheme: "tcp", host: "::1", port: 8765 });
 * assert.deepEqual(parseEndpointUrl("unix:///run/env.sock"), { scheme: "unix", path: "/run/env.sock" });
 * ```
 */
export function parseEndpointUrl(url: string): EndpointUrl {
  if (/^unix:/i.test(url)) return parseUnixUrl(url);
  const whole = url.includes("://") ? url : `tcp://${url}`;
  const isAnyPort = ANY_PORT_REGEXP.test(whole);
  const { scheme, host, port, rest, userInfo } = parseCapabilityUrl(whole.replace(ANY_PORT_REGEXP, "$1"));
  if (userInfo !== "") {
    throw new TypeError(
      "Cannot use the address of a control port as it must hold no user name or password: pass a token instead",
    );
  }
  const defaultPort = DEFAULT_PORTS[scheme];
  if (defaultPort === undefined) {
    throw new TypeError(
      `Cannot use the address of a control port as its scheme must be tcp, tls, ws, wss or unix: current value is ${JSON.stringify(scheme)}`,
    );
  }
  const address = { host, port: isAnyPort ? 0 : (port ?? defaultPort) };
  if (scheme === "ws" || scheme === "wss") return { scheme, ...address, path: rest === "" ? "/" : rest };
  return { scheme: scheme as "tcp" | "tls", ...address };
}

function parseUnixUrl(url: string): EndpointUrl {
  const path = UNIX_REGEXP.exec(url)?.[1];
  if (path === undefined || path.includes("\0") || Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw new TypeError(
      `Cannot use the address of a control port as it must be unix:// and an absolute path of at most ${String(MAX_PATH_BYTES)} bytes: current value is ${JSON.stringify(url)}`,
    );
  }
  return { scheme: "unix", path };
}

/**
 * Writes the address of a control port as a URL.
 *
 * @param endpoint As {@linkcode parseEndpointUrl} returns it.
 *
 * @example
 * ```ts
 * import { formatEndpointUrl } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * assert.equal(formatEndpointUrl({ scheme: "tcp", host: "::1", port: 8765 }), "tcp://[::1]:8765");
 * ```
 */
export function formatEndpointUrl(endpoint: EndpointUrl): string {
  if (endpoint.scheme === "unix") return `unix://${endpoint.path}`;
  const { scheme, host, port } = endpoint;
  const path = "path" in endpoint && endpoint.path !== "/" ? endpoint.path : "";
  return `${scheme}://${host.includes(":") ? `[${host}]` : host}:${String(port)}${path}`;
}
