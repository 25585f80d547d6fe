// What passes for a browser and is none, or is one no longer.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import type { Duplex } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { WebSocketServer } from "ws";
import type { WebSocket } from "ws";
import { serveSite } from "./_testing.ts";
import { cdpCapability } from "./cdp_capability.ts";
import { CdpClient } from "./cdp_client.ts";

const ATTACHED = {
  method: "Target.attachedToTarget",
  params: {
    sessionId: "S",
    targetInfo: { targetId: "T", type: "page", url: "about:blank" },
    waitingForDebugger: true,
  },
};

/** Lists itself as a browser; what comes of its socket is up to `upgrade`. */
async function impostor(
  upgrade: (request: IncomingMessage, stream: Duplex, head: Buffer) => void,
): Promise<string> {
  const server = createServer((_, response) =>
    response.end(JSON.stringify({ webSocketDebuggerUrl: "ws://elsewhere.invalid:1/devtools/browser/X" })),
  );
  const streams: Duplex[] = [];
  server.on("upgrade", (request: IncomingMessage, stream: Duplex, head: Buffer) => {
    streams.push(stream.on("error", () => undefined));
    upgrade(request, stream, head);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const stream of streams) stream.destroy();
    server.close();
  });
  return `127.0.0.1:${String((server.address() as AddressInfo).port)}`;
}

/** One that answers every command, as long as `answer` says so. */
function speaking(
  answer: (method: string, socket: WebSocket) => object | undefined,
): typeof impostor extends (upgrade: infer U) => unknown ? U : never {
  const server = new WebSocketServer({ noServer: true });
  return (request, stream, head) => {
    assert.equal(request.url, "/devtools/browser/X");
    server.handleUpgrade(request, stream, head, (socket) => {
      socket.on("message", (data: Buffer) => {
        const { id, method, sessionId } = JSON.parse(data.toString()) as Record<string, string>;
        if (method === "Target.setAutoAttach") socket.send(JSON.stringify(ATTACHED));
        const result = answer(method!, socket);
        if (result) socket.send(JSON.stringify({ id, sessionId, result }));
      });
    });
  };
}

test("the path alone of the address that a browser tells is used", async () => {
  const url = await impostor(speaking(() => ({})));
  await using client = await CdpClient.connect(cdpCapability({ url }));
  assert.equal(client.page.targetId, "T");
});

test("a greeting that does not come, or is refused, is told", async () => {
  const mute = await impostor(() => undefined);
  const connecting = CdpClient.connect(cdpCapability({ url: mute }), { connectTimeout: 200 });
  await expect(connecting).rejects.toMatchObject({
    code: "timeout",
    message: expect.stringContaining("did not greet within 200 ms"),
  });
  const refusing = await impostor((_, stream) =>
    stream.end("HTTP/1.1 403 Forbidden\r\nConnection: close\r\n\r\n"),
  );
  await expect(CdpClient.connect(cdpCapability({ url: refusing }))).rejects.toMatchObject({
    code: "connection-lost",
    message: expect.stringContaining("HTTP 403"),
  });
});

test("a browser that greets and then says nothing, or nonsense, is told", async () => {
  const silent = await impostor(speaking(() => undefined));
  const connecting = CdpClient.connect(cdpCapability({ url: silent }), { connectTimeout: 200 });
  await expect(connecting).rejects.toMatchObject({ code: "timeout" });
  const nonsense = await impostor(
    speaking((_, socket) => {
      socket.send("<html>");
      return undefined;
    }),
  );
  await expect(CdpClient.connect(cdpCapability({ url: nonsense }))).rejects.toMatchObject({
    code: "connection-lost",
    message: expect.stringContaining("no JSON"),
  });
});

test(
  "a connection on which nothing comes any more is given up 5 s after the first time-out",
  { timeout: 30_000 },
  async () => {
    let stream!: Duplex;
    const answering = speaking((method) => (method === "Browser.getVersion" ? undefined : {}));
    const url = await impostor((request, its, head) => {
      stream = its;
      answering(request, its, head);
    });
    await using client = await CdpClient.connect(cdpCapability({ url }));
    const other = client.send("Browser.getVersion", undefined, { timeout: 60_000 });
    // A browser that has no answer but is there is left alone.
    await expect(client.send("Browser.getVersion", undefined, { timeout: 100 })).rejects.toMatchObject({
      code: "timeout",
    });
    await client.page.send("Page.enable");
    stream.pause();
    await expect(client.send("Browser.getVersion", undefined, { timeout: 100 })).rejects.toMatchObject({
      code: "timeout",
    });
    await expect(other).rejects.toMatchObject({
      code: "connection-lost",
      message: "Cannot go on as the browser does not answer any more",
    });
  },
);

test("a signal ends the connecting at any stage, at once", async () => {
  const mute = await impostor(() => undefined);
  const deaf = await impostor(speaking(() => undefined));
  await using site = await serveSite({}, () => undefined);
  for (const url of [site.url, mute, deaf]) {
    const giveUp = new AbortController();
    const connecting = CdpClient.connect(cdpCapability({ url }), {
      signal: giveUp.signal,
      connectTimeout: 60_000,
    });
    setTimeout(() => giveUp.abort(new Error("enough")), 100);
    await expect(connecting).rejects.toThrow("enough");
  }
});

test("closing fails what is under way", async () => {
  const url = await impostor(speaking((method) => (method === "Browser.getVersion" ? undefined : {})));
  const client = await CdpClient.connect(cdpCapability({ url }));
  const waiting = expect(client.send("Browser.getVersion")).rejects.toMatchObject({ code: "closed" });
  await Promise.all([client.close(), client.close()]);
  await waiting;
  await expect(client.page.evaluate("1")).rejects.toMatchObject({ code: "closed" });
});
