import assert from "node:assert/strict";
import { test } from "vitest";
import { formatEndpointUrl, parseEndpointUrl } from "./endpoint_url.ts";

test.each([
  ["127.0.0.1", { scheme: "tcp", host: "127.0.0.1", port: 8765 }],
  ["TCP://Example.test:1", { scheme: "tcp", host: "example.test", port: 1 }],
  ["tcp://[::1]:0", { scheme: "tcp", host: "::1", port: 0 }],
  ["127.0.0.1:0", { scheme: "tcp", host: "127.0.0.1", port: 0 }],
  ["tls://host", { scheme: "tls", host: "host", port: 8765 }],
  ["ws://host", { scheme: "ws", host: "host", port: 80, path: "/" }],
  ["ws://host:0/env", { scheme: "ws", host: "host", port: 0, path: "/env" }],
  ["wss://host/env/1?x=y", { scheme: "wss", host: "host", port: 443, path: "/env/1?x=y" }],
  ["unix:///run/env.sock", { scheme: "unix", path: "/run/env.sock" }],
  ["unix:/run/env.sock", { scheme: "unix", path: "/run/env.sock" }],
])("CONN-5: parseEndpointUrl() reads %s", (url, endpoint) => {
  assert.deepEqual(parseEndpointUrl(url), endpoint);
});

test.each([
  ["http://host", /tcp, tls, ws, wss or unix/],
  ["tcp://", /name a host/],
  ["tcp://host:99999", /1 to 65535/],
  ["ws://user:secret@host", /no user name or password/],
  ["unix:relative.sock", /absolute path/],
  ["unix:host/path", /absolute path/],
  [`unix:///${"x".repeat(107)}`, /at most 107 bytes/],
])("parseEndpointUrl() refuses %s, and shows no password", (url, message) => {
  assert.throws(
    () => parseEndpointUrl(url),
    (error: Error) =>
      error instanceof TypeError && message.test(error.message) && !error.message.includes("secret"),
  );
});

test("formatEndpointUrl() writes what parseEndpointUrl() reads", () => {
  for (const url of [
    "tcp://[::1]:8765",
    "tls://host:1",
    "ws://host:80",
    "wss://host:443/env",
    "unix:///run/x.sock",
  ]) {
    assert.equal(formatEndpointUrl(parseEndpointUrl(url)), url);
  }
});
