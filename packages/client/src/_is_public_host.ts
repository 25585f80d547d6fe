import net from "node:net";

/** Addresses that mean another machine to each who dials them. */
const LOCAL = new net.BlockList();
for (const [address, prefix] of [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.168.0.0", 16],
] as const) {
  LOCAL.addSubnet(address, prefix, "ipv4");
}
for (const [address, prefix] of [
  ["::", 127],
  ["fc00::", 7],
  ["fe80::", 10],
] as const) {
  LOCAL.addSubnet(address, prefix, "ipv6");
}

/** `localhost`, names of one network only (`db`), and numbers that resolvers read as addresses (`127.1`, `0x7f000001`). */
const LOCAL_NAME_REGEXP = /^[^.]*$|(^|\.)(localhost|\d+|0x[0-9a-f]*)\.?$/i;

/**
 * Whether a host is the same machine wherever it is dialled from, as far as its name or address can tell (CLI-3).
 *
 * @param host A name, or an IP address without brackets.
 */
export function isPublicHost(host: string): boolean {
  if (net.isIPv4(host)) return !LOCAL.check(host, "ipv4");
  if (net.isIPv6(host)) return !LOCAL.check(host, "ipv6");
  return !LOCAL_NAME_REGEXP.test(host);
}
