import { once } from "node:events";
import net from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { Mismatch, shorten } from "./_mismatch.ts";
import { RawConnection } from "./_raw_connection.ts";

const patience = { ms: 10_000 };

/** Both ends of a connection. */
async function pair(ms = patience.ms): Promise<{ raw: RawConnection; other: net.Socket }> {
  const server = net.createServer({ allowHalfOpen: true, noDelay: true }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const accepted = once(server, "connection") as Promise<[net.Socket]>;
  const { port } = server.address() as net.AddressInfo;
  const raw = await RawConnection.connect({ host: "127.0.0.1", port }, { ms });
  const [other] = await accepted;
  onTestFinished(() => {
    raw.destroy();
    other.destroy();
    server.close();
  });
  return { raw, other: other.on("error", () => {}) };
}

test("lines and bytes come out as they were sent, however they were cut", async () => {
  const { raw, other } = await pair();
  for (const piece of ["on", "e\ntw", "o\n\nfo", "ur and five"]) {
    other.write(piece);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  expect(String(await raw.line(""))).toBe("one");
  expect(String(await raw.line(""))).toBe("two");
  expect(String(await raw.line(""))).toBe("");
  expect(String(await raw.bytes(4, ""))).toBe("four");
  other.end();
  expect(await raw.line("")).toBe(undefined);
  expect(String((await raw.rest("")).bytes)).toBe(" and five");
});

test("an end and a reset are told apart, also behind data", async () => {
  for (const bytes of [0, 300_000]) {
    const ended = await pair();
    ended.other.end(Buffer.alloc(bytes));
    expect(await ended.raw.rest("")).toMatchObject({ ending: "end" });
    const reset = await pair();
    reset.other.write(Buffer.alloc(bytes), () => reset.other.resetAndDestroy());
    expect(await reset.raw.rest("")).toMatchObject({ ending: "reset" });
  }
});

test("end sends FIN, and reset sends RST", async () => {
  const first = await pair();
  first.raw.write("x");
  first.raw.end();
  const [chunk] = (await once(first.other, "data")) as [Buffer];
  expect(String(chunk)).toBe("x");
  await once(first.other, "end");
  const second = await pair();
  const error = once(second.other.resume(), "error").catch(() => undefined);
  second.other.removeAllListeners("error");
  const failed = new Promise<NodeJS.ErrnoException>((resolve) => second.other.once("error", resolve));
  second.raw.reset();
  expect((await failed).code).toBe("ECONNRESET");
  void error;
});

test("a slow write arrives in many pieces", async () => {
  const { raw, other } = await pair();
  let pieces = 0;
  other.on("data", () => pieces++);
  await raw.writeSlowly("x".repeat(200));
  raw.end();
  await once(other, "end");
  expect(pieces).toBeGreaterThan(20);
});

test("a reader that stalls is noticed, and writes go on when it reads", async () => {
  const { raw, other } = await pair();
  other.pause();
  const written = await raw.writeUntilStall(Buffer.alloc(65_536), 2 ** 28, 300);
  expect(written).toBeLessThan(2 ** 28);
  let bytes = 0;
  other.on("data", (chunk: Buffer) => (bytes += chunk.length)).resume();
  raw.end();
  await once(other, "end");
  expect(bytes).toBe(written);
});

test("what does not come in time is a mismatch that says what was sent", async () => {
  const { raw } = await pair(50);
  raw.write("hello\n");
  const line = raw.line("a reply");
  await expect(line).rejects.toThrow(Mismatch);
  await expect(line).rejects.toThrow("sent hello\\x0a; expected a reply; got nothing within 0.05 s");
});

test("texts are short and visible", () => {
  expect(shorten("a\n\u2028é")).toBe("a\\x0a\\u2028é");
  expect(shorten("x".repeat(1_000))).toMatch(/^x{120} … x{120} \(1000 characters\)$/);
});
