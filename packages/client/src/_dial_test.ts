import assert from "node:assert/strict";
import { test } from "vitest";
import { parseEndpoint } from "./_dial.ts";
import { codeOf, daemon, freePort, rejection } from "./_testing.ts";

test.each([
  ["tcp://127.0.0.1:9000", "tcp://127.0.0.1:9000"],
  ["127.0.0.1:9000", "tcp://127.0.0.1:9000"],
  ["example.com", "tcp://example.com:8765"],
  ["TCP://Example.COM/", "tcp://example.com:8765"],
  ["[::1]:9000", "tcp://[::1]:9000"],
  ["tcp://[::1]", "tcp://[::1]:8765"],
])("parseEndpoint() reads %s as %s", (url, shown) => {
  assert.equal(parseEndpoint(url).url, shown);
});

test.each([
  "",
  "http://127.0.0.1:80",
  "tcp://",
  "tcp://host:0",
  "tcp://host:99999",
  "a b",
  "ws://user:secret@host",
])("parseEndpoint() refuses '%s' as misuse, and shows no password", (url) => {
  assert.throws(
    () => parseEndpoint(url),
    (error: Error) => error instanceof TypeError && !error.message.includes("secret"),
  );
});

test("dial() gives a stream that nothing has read from", async () => {
  const { port } = await daemon((socket) => socket.write("hello"));
  const stream = await parseEndpoint(`127.0.0.1:${port}`).dial();
  const chunk = new Promise<Buffer>((resolve) => stream.once("data", resolve));
  stream.resume();
  assert.equal(String(await chunk), "hello");
  stream.destroy();
});

test("dial() throws what the operating system says", async () => {
  const error = await rejection(parseEndpoint(`127.0.0.1:${await freePort()}`).dial());
  assert.equal(codeOf(error), "ECONNREFUSED");
});

test("dial() gives up with the reason of the signal, whatever that is", async () => {
  const { port } = await daemon(() => {});
  for (const reason of [new Error("enough"), null, "text"]) {
    const controller = new AbortController();
    const dialled = parseEndpoint(`127.0.0.1:${port}`).dial({ signal: controller.signal });
    controller.abort(reason);
    assert.equal(
      await dialled.then(
        () => "connected",
        (error: unknown) => error,
      ),
      reason,
    );
  }
});
