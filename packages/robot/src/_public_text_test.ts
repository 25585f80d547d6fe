import { EnvportError } from "@envport/wire";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "vitest";
import { publicText } from "./_public_text.ts";

test("publicText() is the first line of a message, without paths and stacks", () => {
  assert.equal(
    publicText(new Error("joint 3 at 1.5/2 rad\n    at step (/home/me/sim.js:1:1)")),
    "joint 3 at 1.5/2 rad",
  );
  assert.equal(publicText(new Error("no /home/me/model.xml here")), "no <path> here");
  assert.equal(publicText(new Error("see file:///srv/sim/model.js")), "see <path>");
  assert.equal(publicText(new TypeError("")), "TypeError");
  assert.equal(publicText("secret"), "a value that is no Error was thrown");
  assert.equal(publicText(new Error("x".repeat(5_000))).length, 1_000);
  assert.equal(publicText(new Error("observation/image of 224/224")), "observation/image of 224/224");
  assert.equal(publicText(new EnvportError("closed", "closed")), "closed");
});

test("publicText() of a system error is its code", () => {
  assert.throws(
    () => readFileSync("/no/such/file"),
    (error) => publicText(error) === "ENOENT",
  );
});
