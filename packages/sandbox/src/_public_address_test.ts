import { networkInterfaces } from "node:os";
import { expect, test } from "vitest";
import { isPublicAddress } from "./_public_address.ts";

test.each([
  ...[
    "127.0.0.1",
    "127.255.255.255",
    "0.0.0.0",
    "0.1.2.3",
    "10.0.0.1",
    "100.64.0.1",
    "100.127.255.255",
    "169.254.169.254",
  ],
  ...[
    "172.16.0.1",
    "172.31.255.255",
    "192.0.0.8",
    "192.0.2.1",
    "192.168.1.1",
    "198.18.0.1",
    "198.51.100.1",
    "203.0.113.1",
  ],
  ...["168.63.129.16", "224.0.0.1", "239.1.1.1", "240.0.0.1", "255.255.255.255"],
  ...[
    "::",
    "::1",
    "::ffff:127.0.0.1",
    "::ffff:8.8.8.8",
    "::127.0.0.1",
    "64:ff9b::7f00:1",
    "64:ff9b:1::1",
    "100::1",
  ],
  ...[
    "fc00::1",
    "fd12:3456::1",
    "fe80::1",
    "fec0::1",
    "ff02::1",
    "2001::1",
    "2001:db8::1",
    "2002:7f00:1::",
    "3fff::1",
  ],
  ...["", "localhost", "1", "127.1", "8.8.8.8.", "fe80::1%eth0"],
])("%j is not public", (address) => {
  expect(isPublicAddress(address)).toBe(false);
});

test.each([
  "8.8.8.8",
  "93.184.216.34",
  "172.32.0.1",
  "100.128.0.1",
  "192.0.1.1",
  "2606:4700::1",
  "2a00:1450:4001::200e",
])("%j is public", (address) => {
  expect(isPublicAddress(address)).toBe(true);
});

test("this machine's own addresses are not public, whatever they are", () => {
  for (const { address } of Object.values(networkInterfaces()).flatMap((all) => all ?? [])) {
    expect(isPublicAddress(address), address).toBe(false);
  }
});
