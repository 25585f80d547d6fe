import { isIPv6 } from "node:net";

/** The parts of a capability's URL, as written; `host` has no brackets around an IPv6 address. */
export interface CapabilityUrlParts {
  /** Lower case, without the colon: `"ssh"`. */
  scheme: string;
  /** User name and password as written, without the at sign; empty if absent. */
  userInfo: string;
  /** Lower case. */
  host: string;
  /** 1 to 65535, or undefined if the URL names none. */
  port: number | undefined;
  /** From the path's slash to the end: path, query and fragment. Empty if absent. */
  rest: string;
}

/** What {@linkcode normalizeUrl} fills in. */
export interface UrlDefaults {
  /** Used if the URL has no `scheme://`. */
  scheme: string;
  /** Made explicit if the URL names no port. */
  port: number;
}

const URL_REGEXP = /^([a-z][a-z0-9+.-]*):\/\/([^/?#]*)([^]*)$/i;
const HOST_REGEXP = /^(?:\[([^\]]+)\]|([^:[\]@]+))(?::(\d*))?$/;
const FORBIDDEN_REGEXP = /[\u0000-\u0020\u007f\\]/;
/** From a user name to the last at sign: where a password may stand, also in a URL that cannot be read. */
const PASSWORD_REGEXP = /^((?:[^/?#:@]*:\/\/)?[^/?#:@]*):[^]*@/;

/**
 * Splits a URL by RFC 3986, keeping what `new URL` would drop or change: an explicit `:80`, the case of the path, a
 * scheme it does not know.
 *
 * @param url An absolute URL such as `ws://[::1]:9222/devtools`.
 * @throws {TypeError} If there is no scheme or host, the host is malformed, or the port is not 1 to 65535. The message
 *   never shows a password.
 *
 * @example
 * ```ts
 * import { parseCapabilityUrl } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * assert.equal(parseCapabilityUrl("http://127.0.0.1:80/mcp").port, 80);
 * ```
 */
export function parseCapabilityUrl(url: string): CapabilityUrlParts {
  const fail = (rule: string): never => {
    const shown = JSON.stringify(url.replace(PASSWORD_REGEXP, "$1:***@"));
    throw new TypeError(`Cannot use capability URL as ${rule}: current value is ${shown}`);
  };
  // A backslash is a slash to browsers: the two would not agree on the host.
  if (FORBIDDEN_REGEXP.test(url)) fail("it must hold no blanks, backslashes or control characters");
  const [, scheme, authority, rest] = URL_REGEXP.exec(url) ?? fail("it must look like scheme://host:port");
  const at = authority!.lastIndexOf("@");
  const [, bracketed, plain, digits] =
    HOST_REGEXP.exec(authority!.slice(at + 1)) ??
    fail("it must name a host (with brackets around an IPv6 address) and at most one port");
  if (bracketed !== undefined && !isIPv6(bracketed)) fail("only an IPv6 address stands in brackets");
  const port = digits ? Number(digits) : undefined;
  if (port !== undefined && (port < 1 || port > 65_535)) fail("its port must be 1 to 65535");
  return {
    scheme: scheme!.toLowerCase(),
    userInfo: at < 0 ? "" : authority!.slice(0, at),
    host: (bracketed ?? plain!).toLowerCase(),
    port,
    rest: rest!,
  };
}

/**
 * Puts the parts of a URL together again.
 *
 * @param parts As {@linkcode parseCapabilityUrl} returns them.
 *
 * @example
 * ```ts
 * import { formatCapabilityUrl, parseCapabilityUrl } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * const parts = parseCapabilityUrl("ws://[::1]/devtools");
 * assert.equal(formatCapabilityUrl({ ...parts, port: 9222 }), "ws://[::1]:9222/devtools");
 * ```
 */
export function formatCapabilityUrl(parts: CapabilityUrlParts): string {
  const user = parts.userInfo === "" ? "" : `${parts.userInfo}@`;
  const port = parts.port === undefined ? "" : `:${String(parts.port)}`;
  return `${parts.scheme}://${user}${bracket(parts.host)}${port}${parts.rest}`;
}

/** The host as it stands in a URL: brackets around an IPv6 address. */
function bracket(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/**
 * Makes a shorthand such as `host`, `host:port` or `[::1]` a whole URL with scheme and port. Normalising twice changes
 * nothing.
 *
 * @param url The shorthand, or a whole URL.
 * @param defaults The scheme and port to fill in.
 * @throws {TypeError} If the URL cannot be read; see {@linkcode parseCapabilityUrl}.
 *
 * @example
 * ```ts
 * import { normalizeUrl } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * assert.equal(normalizeUrl("[::1]", { scheme: "ssh", port: 22 }), "ssh://[::1]:22");
 * ```
 */
export function normalizeUrl(url: string, defaults: UrlDefaults): string {
  const parts = parseCapabilityUrl(url.includes("://") ? url : `${defaults.scheme}://${url}`);
  return formatCapabilityUrl({ ...parts, port: parts.port ?? defaults.port });
}

/**
 * The same URL at another address: scheme, user name, path, query and fragment stay, a password does not (CLI-2).
 *
 * @param url A capability's URL.
 * @param address Where a forwarder listens.
 * @throws {TypeError} If the URL cannot be read.
 *
 * @example
 * ```ts
 * import { routeUrl } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * const local = { host: "127.0.0.1", port: 40001 };
 * assert.equal(routeUrl("ssh://agent:secret@10.0.0.7:22/home", local), "ssh://agent@127.0.0.1:40001/home");
 * ```
 */
export function routeUrl(url: string, address: { host: string; port: number }): string {
  const parts = parseCapabilityUrl(url);
  const [userName] = parts.userInfo.split(":", 1);
  return formatCapabilityUrl({ ...parts, ...address, userInfo: userName! });
}
