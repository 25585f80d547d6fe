import { expect, test } from "vitest";
import { nearest } from "./_nearest.ts";

const WORDS = ["serve", "task", "run", "connect", "open", "forward", "exec", "completion"];

test.each([
  ["serv", "serve"],
  ["serve", "serve"],
  ["conect", "connect"],
  ["conenct", "connect"],
  ["comp", "completion"],
  ["exce", "exec"],
  ["rum", "run"],
])("%s is near %s", (word, meant) => {
  expect(nearest(word, WORDS)).toBe(meant);
});

test("what is like none of them is near none", () => {
  for (const word of ["", "x", "deploy", "zzzzzzzzzz"]) expect(nearest(word, WORDS)).toBeUndefined();
});
