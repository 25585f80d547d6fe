import { EnvportError, ErrorCode, ProtocolError } from "@envport/wire";
import assert from "node:assert/strict";
import { test } from "vitest";
import { connectPatiently, isTransient } from "./_retry.ts";
import { rejection } from "./_testing.ts";

const system = (code: string): Error => Object.assign(new Error(code), { code });
const { signal } = new AbortController();

test.each([
  [system("ECONNREFUSED"), true],
  [system("ECONNRESET"), true],
  [system("ENOENT"), false],
  [new EnvportError("connection-lost", "lost"), true],
  [new EnvportError("host-key-mismatch", "no", { cause: system("ECONNRESET") }), false],
  [new ProtocolError(ErrorCode.serverError, "no"), false],
  [new AggregateError([system("EADDRNOTAVAIL"), system("ECONNREFUSED")]), true],
  [new AggregateError([system("EADDRNOTAVAIL")]), false],
  [new TypeError("fetch failed", { cause: system("ECONNREFUSED") }), true],
  [new TypeError("not a function"), false],
  ["text", false],
  [undefined, false],
])("isTransient() of %s is %s", (error, expected) => {
  assert.equal(isTransient(error), expected);
});

test("CLI-4: a transient error is tried three times", async () => {
  let tries = 0;
  const failing = async (): Promise<never> => {
    tries++;
    throw system("ECONNREFUSED");
  };
  assert.equal((await rejection(connectPatiently(failing, signal))).message, "ECONNREFUSED");
  assert.equal(tries, 3);
});

test("CLI-4: the pauses between the tries are 250 ms and 500 ms", async () => {
  const times: number[] = [];
  await rejection(
    connectPatiently(async () => {
      times.push(performance.now());
      throw system("ECONNRESET");
    }, signal),
  );
  const [first, second] = [times[1]! - times[0]!, times[2]! - times[1]!];
  assert.ok(first >= 245 && second >= 495, `${first} ${second}`);
});

test("CLI-4: what succeeds in the end is returned, and what is not transient is thrown at once", async () => {
  let tries = 0;
  const second = async (): Promise<string> => {
    if (++tries < 2) throw system("ECONNRESET");
    return "there";
  };
  assert.equal(await connectPatiently(second, signal), "there");
  tries = 0;
  await rejection(
    connectPatiently(async () => {
      tries++;
      throw new Error("bad password");
    }, signal),
  );
  assert.equal(tries, 1);
});

test("connectPatiently() gives up in a pause with the signal's reason", async () => {
  const controller = new AbortController();
  const reason = new Error("enough");
  const outcome = rejection(
    connectPatiently(async () => {
      setImmediate(() => controller.abort(reason));
      throw system("ECONNRESET");
    }, controller.signal),
  );
  assert.equal(await outcome, reason);
});
