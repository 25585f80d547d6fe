import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:net";
import type { AddressInfo, Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { RfbClient } from "./rfb_client.ts";

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(" ", ""), "hex");
const FORMAT = "20 18 00 01 00ff 00ff 00ff 00 08 10 000000";

interface Fake {
  readonly capability: { name: string; protocol: string; url: string; params: Record<string, never> };
  /** What the client has said since the handshake. */
  readonly said: () => Buffer;
}

/** A server of a few pixels that is scripted, for what real ones do only now and then. */
async function fake(name: string, talk: (socket: Socket) => void, delay = 0): Promise<Fake> {
  const said: Buffer[] = [];
  const server = createServer((socket) => {
    socket.on("error", () => undefined);
    let phase = 0;
    socket.write("RFB 003.008\n");
    const title = Buffer.from(name);
    const init = [hex(`0002 0001 ${FORMAT}`), hex(title.length.toString(16).padStart(8, "0")), title];
    const answers = [
      () => void socket.write(hex("01 01")),
      () => void socket.write(hex("00000000")),
      () => {
        socket.write(Buffer.concat(init));
        talk(socket);
      },
    ];
    socket.on("data", (chunk: Buffer) => {
      const answer = answers[phase++];
      if (answer) setTimeout(answer, delay);
      else said.push(chunk);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const { port } = server.address() as AddressInfo;
  const capability = {
    name: "screen",
    protocol: "rfb/3.8",
    url: `rfb://127.0.0.1:${port}`,
    params: {},
  };
  return { capability, said: () => Buffer.concat(said) };
}

/** An update with the two pixels of the screen in raw. */
const PICTURE = "00 00 0001 0000 0000 0002 0001 00000000 01020300 04050600";

test("a first update without a pixel is asked for again, and the first picture is whole", async () => {
  const { capability, said } = await fake("quiet", (socket) => {
    socket.write(hex("00 00 0001 0000 0000 0000 0000 ffffff11"));
    setTimeout(() => socket.write(hex(PICTURE)), 50);
  });
  await using client = await RfbClient.connect(capability);
  const { data } = await client.frame({ fresh: false });
  assert.deepEqual([...data], [1, 2, 3, 255, 4, 5, 6, 255]);
  const requests = said()
    .toString("hex")
    .match(/0300000000000002000[1]/g);
  assert.ok((requests?.length ?? 0) >= 2, "the whole screen was not asked for twice");
});

test.each([
  [0, "00000001 00000000"],
  [30, "00000001 00000007 00000010 00000005 00000000"],
])("a server %i ms away is asked for what is fastest there", async (delay, encodings) => {
  const { capability, said } = await fake("far", (socket) => socket.write(hex(PICTURE)), delay);
  await using client = await RfbClient.connect(capability);
  assert.equal(client.size.width, 2);
  // SetEncodings begins with its type and how many there are.
  const list = new RegExp(`0200[0-9a-f]{4}${encodings.replaceAll(" ", "")}`);
  await expect.poll(() => said().toString("hex")).toMatch(list);
});

test("a call that waits for its turn is given up at once by its signal, and does nothing later", async () => {
  const { capability, said } = await fake("slow", (socket) => socket.write(hex(PICTURE)));
  await using client = await RfbClient.connect(capability);
  const first = client.press("a", { holdTime: 300 });
  const giving = new AbortController();
  const second = client.press("b", { signal: giving.signal });
  giving.abort(new Error("enough"));
  await assert.rejects(second, /enough/);
  await first;
  await client.press("c");
  const keys = said().toString("hex");
  expect(keys).toContain("0401000000000063");
  expect(keys).not.toContain("0401000000000062");
});

test("to QEMU, keys are sent as keys, with Shift around what needs it", async () => {
  const { capability, said } = await fake("QEMU (test)", (socket) => {
    socket.write(hex("00 00 0001 0000 0000 0000 0000 fffffefe"));
    socket.write(hex(PICTURE));
    // Answers to barriers.
    socket.on("data", (chunk: Buffer) => {
      if (chunk.includes(hex("03 00 0000 0000 0001 0001"))) socket.write(hex(PICTURE));
    });
  });
  await using client = await RfbClient.connect(capability);
  await client.type("_a");
  const event = (down: number, keysym: string, keycode: string): string =>
    `ff00000${down}${keysym}${keycode}`;
  const expected = [
    event(1, "0000ffe1", "0000002a"),
    event(1, "0000005f", "0000000c"),
    event(0, "0000005f", "0000000c"),
    event(0, "0000ffe1", "0000002a"),
    event(1, "00000061", "0000001e"),
    event(0, "00000061", "0000001e"),
  ].join("");
  expect(said().toString("hex")).toContain(expected);
});

test("a server that goes silent, goes away or answers as a web server is told apart, in time", async () => {
  const silent = await fake("silent", () => undefined);
  await assert.rejects(RfbClient.connect(silent.capability, { readyTimeout: 150 }), { code: "timeout" });
  const gone = await fake("gone", (socket) => socket.destroy());
  await assert.rejects(RfbClient.connect(gone.capability), { code: "connection-lost" });
  const web = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")).listen(0, "127.0.0.1");
  onTestFinished(() => void web.close());
  await once(web, "listening");
  const url = `rfb://127.0.0.1:${(web.address() as AddressInfo).port}`;
  await assert.rejects(RfbClient.connect({ ...gone.capability, url }), { code: "protocol-violation" });
  await assert.rejects(RfbClient.connect({ ...gone.capability, protocol: "ssh/2" }), {
    code: "invalid-value",
  });
});

test("connect() is given up by its signal, and the socket is closed", async () => {
  const closed: Promise<unknown>[] = [];
  const { capability } = await fake("silent", (socket) => {
    closed.push(once(socket, "close"));
  });
  await assert.rejects(RfbClient.connect(capability, { signal: AbortSignal.timeout(100) }), {
    name: "TimeoutError",
  });
  await Promise.all(closed);
  assert.equal(closed.length, 1);
});

test("text that a Latin-1 server cannot take is refused, not spoilt", async () => {
  const { capability, said } = await fake("latin", (socket) => {
    socket.write(hex(PICTURE));
    socket.on("data", (chunk: Buffer) => {
      if (chunk.includes(hex("03 00 0000 0000 0001 0001"))) socket.write(hex(PICTURE));
    });
  });
  await using client = await RfbClient.connect(capability);
  await assert.rejects(client.writeClipboard("€"), { code: "unsupported", message: /'€'$/ });
  await client.writeClipboard("grüße");
  expect(said().toString("hex")).toContain(hex("06 000000 00000005 6772fcdf65").toString("hex"));
});
