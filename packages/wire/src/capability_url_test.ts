import fc from "fast-check";
import assert from "node:assert/strict";
import { test } from "vitest";
import { formatCapabilityUrl, normalizeUrl, parseCapabilityUrl, routeUrl } from "./capability_url.ts";

const defaults = { scheme: "ws", port: 9222 };

/**
 * What hud 0.6.21 makes of a shorthand, with scheme `ws` and port 9222 as its defaults (Python 3.11). Both sides write
 * scheme and host in lower case here, as `urlsplit` reads them.
 */
const golden: readonly [url: string, normalized: string][] = [
  ["127.0.0.1", "ws://127.0.0.1:9222"],
  ["host:2222", "ws://host:2222"],
  ["ssh://host", "ssh://host:9222"],
  ["http://host:80/Path?q=1#f", "http://host:80/Path?q=1#f"],
  ["https://h:443/", "https://h:443/"],
  ["ws://h:9222/devtools/browser/AbC", "ws://h:9222/devtools/browser/AbC"],
  ["http://h/mcp", "http://h:9222/mcp"],
  ["h/path", "ws://h:9222/path"],
  ["http://h?x", "http://h:9222?x"],
  ["http://h#x", "http://h:9222#x"],
  ["http://h:", "http://h:9222"],
  ["ws://u:p@h/x", "ws://u:p@h:9222/x"],
  ["u@h", "ws://u@h:9222"],
  ["user:pa:ss@h", "ws://user:pa:ss@h:9222"],
  ["a@b@h:1", "ws://a@b@h:1"],
  ["http://u:@h", "http://u:@h:9222"],
  ["http://:@h", "http://:@h:9222"],
  ["[::1]", "ws://[::1]:9222"],
  ["[::1]:5900", "ws://[::1]:5900"],
  ["http://[::ffff:1.2.3.4]:1", "http://[::ffff:1.2.3.4]:1"],
  ["http://[fe80::1%25eth0]/x", "http://[fe80::1%25eth0]:9222/x"],
  ["rfb://10.0.0.1//a", "rfb://10.0.0.1:9222//a"],
  ["http://h/%7Ea", "http://h:9222/%7Ea"],
  ["x+y.z-1://h", "x+y.z-1://h:9222"],
  ["http://xn--bcher-kva:1", "http://xn--bcher-kva:1"],
  ["http://bücher/x", "http://bücher:9222/x"],
];

test.each(golden)(
  "normalizeUrl() makes of %j what the published Python package makes: %j",
  (url, normalized) => {
    assert.equal(normalizeUrl(url, defaults), normalized);
  },
);

const refusedByBoth = [
  "http://h:99999",
  "http://",
  "",
  "http://h:٣",
  "1x://h",
  "h:abc",
  "::1",
  "[::1",
  "http://h:80:90",
  "h?q=a://b",
];

test.each(refusedByBoth)("normalizeUrl() refuses %j, as the published Python package does", (url) => {
  assert.throws(() => normalizeUrl(url, defaults), TypeError);
});

test("normalizeUrl() writes the port, the scheme and the host in one way, where Python keeps what was written", () => {
  assert.equal(normalizeUrl("HTTP://Host.Example:080/Path", defaults), "http://host.example:80/Path");
  assert.equal(normalizeUrl("http://@h", defaults), "http://h:9222");
});

test("normalizeUrl() keeps an empty query and fragment, which Python drops", () => {
  assert.equal(normalizeUrl("http://h/?", defaults), "http://h:9222/?");
  assert.equal(normalizeUrl("http://h/#", defaults), "http://h:9222/#");
});

test.each([
  "http://h:0",
  "http://h/ x",
  " h",
  "h\n",
  "ws://h\u0000",
  "http://good\\@bad",
  "[:::]",
  "[1.2.3.4]",
  "[::1]x",
])("normalizeUrl() refuses %j, which Python lets pass or cleans", (url) => {
  assert.throws(() => normalizeUrl(url, defaults), /^TypeError: Cannot use capability URL as /);
});

test.each([
  "ws://agent:hunter2@h:0",
  "agent:hunter2@h:99999",
  "ws://agent:hunter2@",
  "ws://agent:hunter2@[::1",
  "ws://agent:hun/hunter2@h:0",
  "1x://agent:hunter2@h",
])("the error about %j does not show the password", (url) => {
  assert.throws(
    () => normalizeUrl(url, defaults),
    (error) =>
      error instanceof TypeError &&
      error.message.includes("agent:***@") &&
      !error.message.includes("hunter2"),
  );
});

const label = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,8}[a-z0-9])?$/);
const host = fc.oneof(
  fc.array(label, { minLength: 1, maxLength: 3 }).map((labels) => labels.join(".")),
  fc.ipV4(),
  fc.ipV6().map((address) => `[${address}]`),
);
const port = fc.option(fc.integer({ min: 1, max: 65_535 }), { nil: undefined });
const userInfo = fc.stringMatching(/^([A-Za-z0-9._~%-]{1,8}(:[A-Za-z0-9!$&'()*+,;=:%-]{0,8})?)?$/);
const rest = fc.stringMatching(
  /^(\/[A-Za-z0-9/._~%-]{0,12})?(\?[A-Za-z0-9=&:@/-]{0,8})?(#[A-Za-z0-9-]{0,5})?$/,
);
const scheme = fc.stringMatching(/^([A-Za-z][A-Za-z0-9+.-]{0,6}:\/\/)?$/);
const urls = fc.tuple(scheme, userInfo, host, port, rest).map(([before, user, name, number, after]) => {
  const at = user === "" ? "" : `${user}@`;
  const colon = number === undefined ? "" : `:${String(number)}`;
  return `${before}${at}${name}${colon}${after}`;
});

test("normalizeUrl() changes nothing at the second time, and leaves no default to fill in", () => {
  fc.assert(
    fc.property(urls, (url) => {
      // A shorthand whose query holds `://` is ambiguous and refused, here as in Python.
      fc.pre(
        url.indexOf("://") === url.search(/:\/\//) &&
          (/^[a-z][a-z0-9+.-]*:\/\//i.test(url) || !url.includes("://")),
      );
      const once = normalizeUrl(url, defaults);
      assert.equal(normalizeUrl(once, { scheme: "other", port: 1 }), once);
      assert.notEqual(parseCapabilityUrl(once).port, undefined);
    }),
    { numRuns: 1_000 },
  );
});

test("normalizeUrl() throws nothing but a TypeError, whatever it is given", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.string({ unit: "binary" }), fc.webUrl()), (url) => {
      try {
        assert.equal(normalizeUrl(normalizeUrl(url, defaults), defaults), normalizeUrl(url, defaults));
      } catch (error) {
        assert.ok(error instanceof TypeError, String(error));
      }
    }),
    { numRuns: 1_000 },
  );
});

test("formatCapabilityUrl() is the inverse of parseCapabilityUrl()", () => {
  fc.assert(
    fc.property(urls, (url) => {
      fc.pre(/^[a-z][a-z0-9+.-]*:\/\//i.test(url));
      const parts = parseCapabilityUrl(url);
      assert.deepEqual(parseCapabilityUrl(formatCapabilityUrl(parts)), parts);
    }),
  );
});

test("parseCapabilityUrl() tells the parts apart and keeps their case where it matters", () => {
  assert.deepEqual(parseCapabilityUrl("WSS://Agent:P%40ss@[2001:DB8::1]:443/A?b=C#d"), {
    scheme: "wss",
    userInfo: "Agent:P%40ss",
    host: "2001:db8::1",
    port: 443,
    rest: "/A?b=C#d",
  });
});

test("CLI-2: routeUrl() keeps scheme, user name, path, query and fragment, and drops the password", () => {
  const local = { host: "127.0.0.1", port: 40_001 };
  assert.equal(
    routeUrl("wss://agent:secret@h:443/mcp?x=1#f", local),
    "wss://agent@127.0.0.1:40001/mcp?x=1#f",
  );
  assert.equal(routeUrl("ssh://:secret@h:22", local), "ssh://127.0.0.1:40001");
  assert.equal(routeUrl("ws://a@b:secret@h", { host: "::1", port: 1 }), "ws://a@b@[::1]:1");
});
