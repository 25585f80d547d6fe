import { isIP } from "node:net";

const LABEL = /^(?!-)[a-z0-9_-]{1,63}(?<!-)$/;
/** The URL standard reads a name whose last label looks like this as an IPv4 address: 2130706433, 0x7f.1, 127.1. */
const NUMERIC = /^(\d+|0x[0-9a-f]*)$/;
/** Ports that a pattern without one means. */
const WEB_PORTS = [80, 443];

/** One entry of an allow-list. */
interface Pattern {
  readonly host: string;
  readonly scope: "any" | "below" | "at-or-below" | "address";
  readonly ports: readonly number[];
}

/**
 * A host name in its one spelling: lower case, no final dot. Undefined for what is no DNS name, such as
 * `127.0.0.1\0.example.com`, an address in any notation, or an empty label.
 *
 * @example
 * ```ts
 * import { hostName } from "@envport/sandbox";
 * import assert from "node:assert/strict";
 *
 * assert.equal(hostName("Example.COM."), "example.com");
 * assert.equal(hostName("0x7f.1"), undefined);
 * ```
 */
export function hostName(text: string): string | undefined {
  const name = text.toLowerCase().replace(/\.$/, "");
  const labels = name.split(".");
  if (name.length > 253 || !labels.every((label) => LABEL.test(label))) return undefined;
  return NUMERIC.test(labels.at(-1)!) ? undefined : name;
}

/** An IPv6 address without brackets, anything else as it is. */
const bare = (host: string): string =>
  host.startsWith("[") && host.endsWith("]") ? host.slice(1, -1) : host;

/**
 * An allow-list of hosts.
 *
 * | entry | allows |
 * | --- | --- |
 * | `example.com` | that host and every one below it, on ports 80 and 443 |
 * | `*.example.com` | those below it alone |
 * | `example.com:8443` | the same on port 8443 only |
 * | `192.0.2.7`, `[2001:db8::7]:8443` | that address |
 * | `*` | every host name, no address |
 *
 * @example
 * ```ts
 * import { HostList } from "@envport/sandbox";
 * import assert from "node:assert/strict";
 *
 * const list = new HostList(["example.com"]);
 * assert.equal(list.allows("api.example.com", 443), true);
 * assert.equal(list.allows("notexample.com", 443), false);
 * ```
 */
export class HostList {
  readonly #patterns: readonly Pattern[];

  /**
   * @param entries What to allow; an empty list allows nothing.
   * @throws {TypeError} If an entry is none of the kinds above.
   */
  constructor(entries: readonly string[]) {
    this.#patterns = entries.map(parseEntry);
  }

  /** Whether a host name or address is allowed, by whatever its name resolves to. */
  allows(host: string, port: number): boolean {
    const address = bare(host);
    const name = isIP(address) === 0 ? hostName(host) : undefined;
    if (name === undefined && isIP(address) === 0) return false;
    return this.#patterns.some(
      (pattern) =>
        pattern.ports.includes(port) &&
        (name === undefined ? matchesAddress(pattern, address) : matchesName(pattern, name)),
    );
  }
}

function parseEntry(entry: string): Pattern {
  const [, rest = "", port] = /^(.*?)(?::(\d{1,5}))?$/.exec(isIP(entry) === 6 ? `[${entry}]` : entry) ?? [];
  const ports = port === undefined ? WEB_PORTS : [Number(port)];
  const valid = ports.every((number) => number > 0 && number < 65_536);
  if (valid && rest === "*") return { host: "", scope: "any", ports };
  if (valid && isIP(bare(rest)) !== 0) return { host: bare(rest), scope: "address", ports };
  const below = rest.startsWith("*.");
  const host = hostName(below ? rest.slice(2) : rest);
  if (!valid || host === undefined) {
    throw new TypeError(
      `Cannot allow a host as the entry is no name, "*.name" or address with an optional port: current value is "${entry}"`,
    );
  }
  return { host, scope: below ? "below" : "at-or-below", ports };
}

function matchesName({ host, scope }: Pattern, name: string): boolean {
  if (scope === "any") return true;
  if (scope === "address") return false;
  return name.endsWith(`.${host}`) || (scope === "at-or-below" && name === host);
}

function matchesAddress({ host, scope }: Pattern, address: string): boolean {
  return scope === "address" && canonical(host) === canonical(address);
}

/** One spelling of an address. */
function canonical(address: string): string {
  return isIP(address) === 6 ? new URL(`http://[${address}]/`).hostname : address;
}
