import { BlockList, isIP } from "node:net";
import { networkInterfaces } from "node:os";

/** IPv4 that is not the public internet: private, loopback, link-local, shared, reserved, documentation, metadata. */
export const SPECIAL_4: readonly (readonly [address: string, prefix: number])[] = [
  ["0.0.0.0", 8],
  ["10.0.0.0", 8],
  ["100.64.0.0", 10],
  ["127.0.0.0", 8],
  ["169.254.0.0", 16],
  ["172.16.0.0", 12],
  ["192.0.0.0", 24],
  ["192.0.2.0", 24],
  ["192.88.99.0", 24],
  ["192.168.0.0", 16],
  ["198.18.0.0", 15],
  ["198.51.100.0", 24],
  ["203.0.113.0", 24],
  ["168.63.129.16", 32],
  ["224.0.0.0", 4],
  ["240.0.0.0", 4],
];

/** Within 2000::/3, the only public IPv6: Teredo and other special ones, documentation, 6to4. */
const SPECIAL_6: readonly (readonly [address: string, prefix: number])[] = [
  ["2001::", 23],
  ["2001:db8::", 32],
  ["2002::", 16],
  ["3fff::", 20],
];

const special = new BlockList();
for (const [address, prefix] of SPECIAL_4) special.addSubnet(address, prefix, "ipv4");
for (const [address, prefix] of SPECIAL_6) special.addSubnet(address, prefix, "ipv6");
const global6 = new BlockList();
global6.addSubnet("2000::", 3, "ipv6");

/** Whether an address is on the public internet, and not this machine's own. */
export function isPublicAddress(address: string): boolean {
  const family = isIP(address);
  if (family === 0) return false;
  if (
    family === 4 ? special.check(address) : special.check(address, "ipv6") || !global6.check(address, "ipv6")
  )
    return false;
  return !Object.values(networkInterfaces())
    .flat()
    .some((own) => own?.address === address);
}
