import assert from "node:assert/strict";
import { test } from "vitest";
import { isPublicHost } from "./_is_public_host.ts";

test.each([
  [
    "127.0.0.1",
    "127.9.9.9",
    "0.0.0.0",
    "10.1.2.3",
    "172.16.0.1",
    "172.31.255.255",
    "192.168.1.1",
    "169.254.169.254",
  ],
  ["100.64.0.1", "::1", "::", "fe80::1", "fd00::1", "::ffff:127.0.0.1", "::ffff:7f00:1", "::ffff:10.0.0.1"],
  [
    "localhost",
    "LOCALHOST",
    "a.localhost",
    "localhost.",
    "db",
    "127.1",
    "2130706433",
    "0x7f000001",
    "0x7f.1",
  ],
])("CLI-3: an address that means another machine to each who dials it is not public: %s, …", (...hosts) => {
  assert.deepEqual(hosts.filter(isPublicHost), []);
});

test("CLI-3: other names and addresses are public", () => {
  const hosts = [
    "93.184.216.34",
    "172.32.0.1",
    "100.128.0.1",
    "2606:2800:220:1::1",
    "tools.example.com",
    "a.b",
    "1e100.net",
  ];
  assert.deepEqual(hosts.filter(isPublicHost), hosts);
});
