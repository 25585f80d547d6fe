import assert from "node:assert/strict";
import { getEventListeners, once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { onTestFinished, test } from "vitest";
import { HttpFetch } from "./_http_fetch.ts";

interface Served {
  client: HttpFetch;
  port: number;
  connections: () => number;
}

/** A server, and a client that dials it whatever the URL says. */
async function served(
  handler: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<Served> {
  let connections = 0;
  const server = createServer(handler)
    .on("connection", () => connections++)
    .listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const client = new HttpFetch({ dial: { host: "127.0.0.1", port } });
  onTestFinished(() => {
    client.close();
    server.closeAllConnections();
    server.close();
  });
  return { client, port, connections: () => connections };
}

test("another address is dialled than the URL names, which stands in Host", async () => {
  const { client } = await served(
    (request, response) => void response.end(request.headers.host! + request.url!),
  );
  const response = await client.fetch("http://tools.internal:8040/mcp?a=b");
  assert.equal(await response.text(), "tools.internal:8040/mcp?a=b");
});

test("method, headers and body arrive, status and headers come back", async () => {
  const { client } = await served((request, response) => {
    void text(request).then((body) => {
      response.writeHead(418, "Teapot", { "x-was": request.headers["x-a"], "set-cookie": ["a=1", "b=2"] });
      response.end(`${request.method!} ${body} ${request.headers["content-length"]!}`);
    });
  });
  const response = await client.fetch("http://h/", {
    method: "POST",
    headers: { "X-A": "b" },
    body: "grüße",
  });
  assert.deepEqual([response.status, response.statusText], [418, "Teapot"]);
  assert.deepEqual([response.headers.get("x-was"), response.headers.getSetCookie()], ["b", ["a=1", "b=2"]]);
  assert.equal(await response.text(), "POST grüße 7");
});

test("answers without a body have none, and a redirect is handed back", async () => {
  const { client } = await served((request, response) => {
    response.writeHead(request.url === "/" ? 204 : 307, { location: "/" }).end();
  });
  assert.equal((await client.fetch("http://h/")).body, null);
  assert.equal((await client.fetch("http://h/other")).status, 307);
});

test("connections are used again once a body was read", async () => {
  const { client, connections } = await served((_, response) => void response.end("x".repeat(100_000)));
  for (let i = 0; i < 20; i++) await (await client.fetch("http://h/")).text();
  assert.equal(connections(), 1);
});

test("a body that nobody reads holds the server back", async () => {
  let sent = 0;
  const { client } = await served((_, response) => {
    const chunk = Buffer.alloc(1024 * 1024);
    const more = (): void => {
      while (sent < 200 && response.write(chunk)) sent++;
    };
    response.on("drain", more);
    more();
  });
  const response = await client.fetch("http://h/");
  let last = -1;
  while (last !== sent) {
    last = sent;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
  assert.ok(sent < 100, `${String(sent)} MiB were taken`);
  await response.body!.cancel();
});

test("a signal ends a request that waits, and a body that comes, with its reason; no listener stays", async () => {
  const { client } = await served((request, response) => {
    if (request.url === "/body") response.write("begun");
  });
  const reason = new Error("enough");
  const waiting = new AbortController();
  const request = client.fetch("http://h/", { signal: waiting.signal });
  setTimeout(() => waiting.abort(reason), 20);
  await assert.rejects(request, reason);
  const coming = new AbortController();
  const response = await client.fetch("http://h/body", { signal: coming.signal });
  const body = response.text();
  coming.abort(reason);
  await assert.rejects(body, reason);
  assert.deepEqual(getEventListeners(coming.signal, "abort"), []);
  await assert.rejects(client.fetch("http://h/", { signal: AbortSignal.abort(reason) }), reason);
});

test("a connection that breaks is an error of the request or of its body", async () => {
  const { client } = await served((request, response) => {
    if (request.url === "/body") response.write("begun", () => request.socket.destroy());
    else request.socket.destroy();
  });
  await assert.rejects(client.fetch("http://h/"), { code: "ECONNRESET" });
  const response = await client.fetch("http://h/body");
  await assert.rejects(response.text());
});

test("close() ends what is under way", async () => {
  const { client } = await served((_, response) => void response.write("begun"));
  const response = await client.fetch("http://h/");
  const body = assert.rejects(response.text());
  client.close();
  await body;
});
