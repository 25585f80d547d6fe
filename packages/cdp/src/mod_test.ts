import { expect, test } from "vitest";
import * as mod from "./mod.ts";

test("the package exports these values and no other", () => {
  expect(Object.keys(mod).sort()).toEqual([
    "CdpClient",
    "CdpError",
    "CdpPage",
    "ChromiumService",
    "cdp",
    "cdpCapability",
    "chromium",
    "findBrowser",
  ]);
});
