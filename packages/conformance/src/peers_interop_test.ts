import { beforeAll, expect, test } from "vitest";
import type { Findings } from "../scripts/peers.ts";
import {
  committedDifferences,
  committedVersion,
  differences,
  peerPython,
  peerVersion,
  tryPeer,
} from "../scripts/peers.ts";

let python: string;
let found: Findings;
beforeAll(async () => {
  python = peerPython();
  found = await tryPeer(python, "base");
}, 300_000);

test("docs/peers.md is about the version that is tried", () => {
  expect(committedVersion()).toBe(peerVersion(python));
});

test.each(["server", "client"] as const)(
  "the peer's %s differs from the base profile where docs/peers.md says, and nowhere else",
  (side) => {
    const now = differences(found[side]).map(({ rule, scenario }) => `${rule}: ${scenario}`);
    expect(now).toEqual(committedDifferences(side));
  },
);

test("the peer's sessions behave as the model of the base profile", () => {
  expect(found.server.model).toMatchObject({ status: "pass" });
});
