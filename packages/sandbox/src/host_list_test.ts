import { describe, expect, test } from "vitest";
import { HostList, hostName } from "./host_list.ts";

describe("HostList", () => {
  const list = new HostList([
    "good.test",
    "*.sub.test",
    "ported.test:8443",
    "93.184.216.34",
    "[2606:4700::1]:53",
    "Upper.TEST.",
  ]);

  test.each<[string, number, boolean]>([
    ["good.test", 443, true],
    ["good.test", 80, true],
    ["good.test", 22, false],
    ["GOOD.test.", 443, true],
    ["a.b.good.test", 443, true],
    ["evilgood.test", 443, false],
    ["good.test.evil.com", 443, false],
    ["good.tes", 443, false],
    ["good", 443, false],
    ["test", 443, false],
    ["", 443, false],
    [".", 443, false],
    [".good.test", 443, false],
    ["a..good.test", 443, false],
    ["good.test..", 443, false],
    ["127.0.0.1\0.good.test", 443, false],
    ["127.0.0.1%00.good.test", 443, false],
    ["evil.com#.good.test", 443, false],
    ["evil.com/.good.test", 443, false],
    ["user@good.test", 443, false],
    ["evil.com:80@good.test", 443, false],
    ["good.test:443", 443, false],
    [" good.test", 443, false],
    ["good.test\n", 443, false],
    ["-a.good.test", 443, false],
    ["a-.good.test", 443, false],
    ["a_b.good.test", 443, true],
    ["xn--bcher-kva.good.test", 443, true],
    ["bücher.good.test", 443, false],
    [`${"a".repeat(64)}.good.test`, 443, false],
    [`${"a.".repeat(130)}good.test`, 443, false],
    ["x.sub.test", 443, true],
    ["sub.test", 443, false],
    ["ported.test", 8443, true],
    ["ported.test", 443, false],
    ["upper.test", 443, true],
    ["93.184.216.34", 443, true],
    ["93.184.216.035", 443, false],
    ["93.184.216.34.", 443, false],
    ["1572395042", 443, false],
    ["0x5db8d822", 443, false],
    ["127.1", 443, false],
    ["[2606:4700::1]", 53, true],
    ["2606:4700:0:0::0:1", 53, true],
    ["2606:4700::1", 443, false],
    ["::ffff:93.184.216.34", 443, false],
  ])("says of %j port %i: %s", (host, port, allowed) => {
    expect(list.allows(host, port)).toBe(allowed);
  });

  test("that is empty allows nothing, and * allows every name but no address", () => {
    expect(new HostList([]).allows("good.test", 443)).toBe(false);
    const any = new HostList(["*"]);
    expect(any.allows("anything.example", 443)).toBe(true);
    expect(any.allows("93.184.216.34", 443)).toBe(false);
    expect(any.allows("anything.example", 25)).toBe(false);
    expect(new HostList(["*:25"]).allows("anything.example", 25)).toBe(true);
  });

  test.each(
    [
      "",
      "a b",
      "*",
      "http://x.test",
      "x.test:0",
      "x.test:70000",
      "*.*",
      "x.*",
      "*x.test",
      "127.1",
      "x.test/",
      "**",
    ].filter((entry) => entry !== "*"),
  )("refuses the entry %j", (entry) => {
    expect(() => new HostList([entry])).toThrow(
      `Cannot allow a host as the entry is no name, "*.name" or address with an optional port: current value is "${entry}"`,
    );
  });
});

test("hostName() gives a name its one spelling", () => {
  expect(hostName("A.Example.")).toBe("a.example");
  expect(hostName("a.0x1f")).toBeUndefined();
  expect(hostName("a.12")).toBeUndefined();
  expect(hostName("12.a")).toBe("12.a");
});
