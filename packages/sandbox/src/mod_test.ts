import { expect, test } from "vitest";
import * as surface from "./mod.ts";

test("the package exports these values and no others", () => {
  expect(Object.keys(surface).sort()).toEqual([
    "DEFAULT_PATH",
    "HostList",
    "SERVICE_FOLDER",
    "Sandbox",
    "SandboxError",
    "bwrapArgv",
    "bwrapCommand",
    "defaultSystemMounts",
    "hostName",
    "probe",
    "seccompFilter",
  ]);
});
