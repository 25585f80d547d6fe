import assert from "node:assert/strict";
import { fromManifest, toManifest } from "@envport/wire";
import { expect, test } from "vitest";
import { cdpCapability } from "./cdp_capability.ts";
import { CdpClient } from "./cdp_client.ts";

test.each([
  ["10.0.0.7", "ws://10.0.0.7:9222"],
  ["localhost:9333", "ws://localhost:9333"],
  ["[::1]", "ws://[::1]:9222"],
  ["http://127.0.0.1:9222", "http://127.0.0.1:9222"],
  ["wss://browser.example/?token=x", "wss://browser.example:9222/?token=x"],
  ["ws://127.0.0.1:1/devtools/browser/A-b", "ws://127.0.0.1:1/devtools/browser/A-b"],
])("the url %s becomes %s", (url, expected) => {
  assert.equal(cdpCapability({ url }).url, expected);
});

test("it is a capability under its wire names, there and back", () => {
  const capability = cdpCapability({ name: "b", url: "127.0.0.1", targetId: "T1" });
  assert.deepEqual(capability, {
    name: "b",
    protocol: "cdp/1.3",
    url: "ws://127.0.0.1:9222",
    params: { target_id: "T1" },
  });
  assert.deepEqual(fromManifest(toManifest(capability)), capability);
});

test("other schemes and an empty page are refused", () => {
  expect(() => cdpCapability({ url: "ftp://127.0.0.1" })).toThrow("its url must be ws, wss, http or https");
  expect(() => cdpCapability({ url: "127.0.0.1", targetId: "" })).toThrow("'targetId' must not be empty");
});

test.each([
  [{ protocol: "ssh/2" }, "it must be of the family cdp"],
  [{ url: "ssh://127.0.0.1:22" }, "its url must be ws, wss, http or https"],
  [{ params: { target_id: 5 } }, "'target_id' must be a non-empty string"],
])("a binding with %j is refused by the client", async (part, message) => {
  const capability = { name: "b", protocol: "cdp/1.3", url: "ws://127.0.0.1:1", params: {}, ...part };
  await expect(CdpClient.connect(capability)).rejects.toMatchObject({
    code: "invalid-value",
    message: expect.stringContaining(message),
  });
});
