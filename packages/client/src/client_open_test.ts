import { Environment } from "@envport/server";
import type { Capability, CapabilityClient, Protocol, ProtocolConnectOptions } from "@envport/wire";
import { EnvportError, parseCapabilityUrl } from "@envport/wire";
import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import { expectTypeOf, test } from "vitest";
import { codeOf, connected, daemon, freePort, rejection, served, until } from "./_testing.ts";
import type { Client } from "./client.ts";

/** A client that greets a daemon which says "hi" first. */
class GreetClient implements CapabilityClient {
  readonly socket: net.Socket;
  readonly greeting: string;
  closed = 0;

  constructor(socket: net.Socket, greeting: string) {
    this.socket = socket;
    this.greeting = greeting;
  }

  async close(): Promise<void> {
    this.closed++;
    this.socket.destroy();
  }
}

type Seen = { capability: Capability; options: ProtocolConnectOptions };

/** The protocol `greet/1`, and what it was asked to connect to. */
function greet(id = "greet/1"): Protocol<GreetClient> & { seen: Seen[] } {
  const seen: Seen[] = [];
  return {
    family: "greet",
    id,
    seen,
    async connect(capability, options = {}) {
      seen.push({ capability, options });
      const { host, port } = parseCapabilityUrl(capability.url);
      const socket = net.connect({ host, port: port! }).on("error", () => {});
      const closed = new Promise<never>((_, reject) => {
        const lost = (error?: Error): void =>
          reject(error ?? Object.assign(new Error("closed"), { code: "ECONNRESET" }));
        socket.once("error", lost).once("close", () => lost());
      });
      closed.catch(() => {});
      const [greeting] = (await Promise.race([once(socket, "data"), closed])) as [Buffer];
      return new GreetClient(socket, String(greeting));
    },
  };
}

/** A client of an environment with these bindings of `greet/1`. */
async function withBindings(urls: Record<string, string>, protocol = "greet/1"): Promise<Client> {
  const env = new Environment();
  for (const [name, url] of Object.entries(urls))
    env.addCapability({ name, protocol, url, params: { from: name } });
  return await connected((await served(env)).url);
}

async function greeter(): Promise<string> {
  return `greet://127.0.0.1:${(await daemon((socket) => socket.write("hi"))).port}`;
}

test("CLI-4: open() connects through the forwarder, once, and closes with the client", async () => {
  const url = await greeter();
  const client = await withBindings({ hello: url });
  const protocol = greet();
  const opened = await client.open(protocol);
  assert.equal(opened.greeting, "hi");
  assert.equal(await client.open(protocol), opened);
  assert.equal(await client.open(protocol, "hello"), opened);
  assert.equal(await client.open(protocol, "greet/1"), opened);
  assert.deepEqual(
    protocol.seen.map(({ capability }) => capability),
    [client.binding("hello")],
  );
  await client.close();
  assert.equal(opened.closed, 1);
});

test("CLI-4: open() that is called twice at once connects once", async () => {
  const client = await withBindings({ hello: await greeter() });
  const protocol = greet();
  const [first, second] = await Promise.all([client.open(protocol), client.open(protocol)]);
  assert.equal(first, second);
  assert.equal(protocol.seen.length, 1);
});

test("open() keeps two protocols of one family apart", async () => {
  const client = await withBindings({ hello: await greeter() });
  const [first, second] = [await client.open(greet()), await client.open(greet())];
  assert.notEqual(first, second);
  await client.close();
  assert.deepEqual([first.closed, second.closed], [1, 1]);
});

test("CLI-4: open() finds by name where there are several, and its errors list them", async () => {
  const url = await greeter();
  const client = await withBindings({ left: url, right: url });
  assert.equal((await client.open(greet(), "right")).greeting, "hi");
  const error = await rejection(client.open(greet()));
  assert.ok(error instanceof EnvportError);
  assert.deepEqual(
    [error.code, error.message],
    [
      "ambiguous-binding",
      "Cannot choose binding 'greet' as several match: left (greet/1), right (greet/1). Name one",
    ],
  );
  const other: Protocol<GreetClient> = { ...greet(), family: "other", id: "other/1" };
  assert.equal((await rejection(client.open(other))).code, "unknown-binding");
});

test("open() looks at what bindings speak, not at what they are called, unless it is given a name", async () => {
  const env = new Environment();
  env.addCapability({ name: "greet", protocol: "smile/3", url: "tcp://127.0.0.1:7", params: {} });
  env.addCapability({ name: "hello", protocol: "greet/1", url: await greeter(), params: {} });
  const client = await connected((await served(env)).url);
  assert.equal((await client.open(greet())).greeting, "hi");
  assert.ok((await rejection(client.open(greet(), "greet"))) instanceof TypeError);
});

test("CLI-4: a binding of another protocol is misuse", async () => {
  const client = await withBindings({ hello: await greeter() }, "smile/3");
  const error = await rejection(client.open(greet(), "hello"));
  assert.ok(error instanceof TypeError);
  assert.equal(error.message, `Cannot open 'hello' as greet/1: its protocol is "smile/3"`);
});

test("CLI-4: open() tries three times while the connection fails, then says why the tunnel was refused", async () => {
  const client = await withBindings({ hello: `greet://127.0.0.1:${await freePort()}` });
  const protocol = greet();
  const error = await rejection(client.open(protocol));
  assert.ok(error instanceof EnvportError);
  assert.equal(error.code, "connection-lost");
  assert.match(
    error.message,
    /^Cannot open 'hello' as its tunnel was refused: cannot reach capability 'hello': ECONNREFUSED$/,
  );
  assert.equal((error.cause as { code: number }).code, -32000);
  assert.equal(protocol.seen.length, 3);
});

test("CLI-4: a daemon that comes up between the tries is reached, and a failed open() is not kept", async () => {
  const port = await freePort();
  const client = await withBindings({ hello: `greet://127.0.0.1:${port}` });
  const protocol = greet();
  await rejection(client.open(protocol));
  const pending = client.open(protocol);
  await until(() => protocol.seen.length === 4, "the first try of the second open");
  await daemon((socket) => socket.write("late"), { port });
  assert.equal((await pending).greeting, "late");
});

test("CLI-4: what is no connection error is thrown at once, and not blamed on a tunnel", async () => {
  const client = await withBindings({
    hello: await greeter(),
    down: `greet://127.0.0.1:${await freePort()}`,
  });
  const denied = new EnvportError("authentication-failed", "no");
  let tries = 0;
  const strict: Protocol<GreetClient> = {
    ...greet(),
    connect: async () => {
      tries++;
      throw denied;
    },
  };
  await rejection(client.open(greet(), "down"));
  assert.equal(await rejection(client.open(strict, "hello")), denied);
  assert.equal(await rejection(client.open(strict, "down")), denied);
  assert.equal(tries, 2);
});

test.each([
  ["https://tools.example.com/mcp", "tools.example.com"],
  ["https://tools.example.com:8443/mcp", "tools.example.com:8443"],
  ["wss://[2001:db8::1]:9222/", "[2001:db8::1]:9222"],
  ["http://127.0.0.1:80/", "127.0.0.1:80"],
])("CLI-3: open() passes the binding's own host, that of %s is %s", async (url, authority) => {
  const client = await withBindings({ hello: url });
  const protocol: Protocol<GreetClient> & { seen: Seen[] } = {
    ...greet(),
    connect: async (capability, options = {}) => {
      protocol.seen.push({ capability, options });
      return new GreetClient(new net.Socket(), "");
    },
  };
  await client.open(protocol);
  assert.equal(protocol.seen[0]!.options.authority, authority);
  assert.equal(parseCapabilityUrl(protocol.seen[0]!.capability.url).host, "127.0.0.1");
});

test("CLI-3: open() of a binding that is used as it is passes no other host", async () => {
  const env = new Environment();
  env.addCapability({ name: "hello", protocol: "greet/1", url: "https://tools.example.com/", params: {} });
  const client = await connected((await served(env)).url, { route: "direct" });
  let seen: unknown;
  await client.open({
    family: "greet",
    id: "greet/1",
    connect: async ({ url }, { authority } = {}) => {
      seen = [url, authority];
      return new GreetClient(new net.Socket(), "");
    },
  });
  assert.deepEqual(seen, ["https://tools.example.com/", undefined]);
});

/** A protocol that connects when it is told to, or gives up with its signal. */
function pendingProtocol(): {
  protocol: Protocol<GreetClient>;
  signals: AbortSignal[];
  finish: () => GreetClient;
} {
  const signals: AbortSignal[] = [];
  const client = new GreetClient(new net.Socket(), "");
  let finish!: () => void;
  const finished = new Promise<void>((resolve) => (finish = resolve));
  const protocol: Protocol<GreetClient> = {
    family: "greet",
    id: "greet/1",
    connect: async (_, { signal } = {}) => {
      signals.push(signal!);
      await finished;
      return client;
    },
  };
  return { protocol, signals, finish: () => (finish(), client) };
}

test("a signal gives up open() for its caller alone; the last one to give up ends the attempt", async () => {
  const client = await withBindings({ hello: await greeter() });
  const { protocol, signals, finish } = pendingProtocol();
  const [first, second] = [new AbortController(), new AbortController()];
  const outcomes = [first, second].map(({ signal }) =>
    rejection(client.open(protocol, undefined, { signal })),
  );
  first.abort(new Error("first"));
  assert.equal((await outcomes[0]!).message, "first");
  assert.equal(signals[0]!.aborted, false);
  second.abort(new Error("second"));
  assert.equal((await outcomes[1]!).message, "second");
  assert.equal(signals[0]!.aborted, true);

  const again = client.open(protocol);
  const late = finish();
  assert.equal(await again, late);
  assert.equal(signals.length, 2);
  // The abandoned attempt has closed what it got in the end; here it is the same object.
  assert.equal(late.closed, 1);
  const before = AbortSignal.abort(new Error("before"));
  assert.equal((await rejection(client.open(protocol, undefined, { signal: before }))).message, "before");
});

test("close() gives up what is being opened, and closes what comes of it after all", async () => {
  const client = await withBindings({ hello: await greeter() });
  const { protocol, signals, finish } = pendingProtocol();
  const outcome = rejection(client.open(protocol));
  const closing = client.close();
  assert.equal(codeOf(await outcome), "closed");
  assert.equal(signals[0]!.aborted, true);
  const late = finish();
  await closing;
  assert.equal(late.closed, 1);
  assert.equal(codeOf(await rejection(client.open(protocol))), "closed");
});

test("close() does not wait for ever for a client that does not close", { timeout: 15_000 }, async () => {
  const client = await withBindings({ hello: await greeter() });
  const stuck: Protocol<CapabilityClient> = {
    ...greet(),
    connect: async () => ({ close: () => new Promise<void>(() => {}) }),
  };
  const broken: Protocol<CapabilityClient> = {
    ...greet(),
    connect: async () => ({ close: () => Promise.reject(new Error("broken")) }),
  };
  await client.open(stuck);
  await client.open(broken);
  await client.close();
  assert.equal((await client.closed).code, "closed");
});

test("CLI-9: an opened client outlives the control connection, and is still the one that open() returns", async () => {
  const env = new Environment();
  const echo = await daemon((socket) => {
    socket.write("hi");
    socket.pipe(socket);
  });
  env.addCapability({
    name: "hello",
    protocol: "greet/1",
    url: `greet://127.0.0.1:${echo.port}`,
    params: {},
  });
  env.template("t").run(async function* () {
    yield yield "?";
  });
  const client = await connected((await served(env)).url);
  await client.start("t");
  const protocol = greet();
  const opened = await client.open(protocol);
  await client.resume();
  opened.socket.write("still");
  assert.equal(String(((await once(opened.socket, "data")) as [Buffer])[0]), "still");
  assert.equal(await client.open(protocol), opened);
});

test("open() returns the client of the protocol", () => {
  const open = (client: Client) => client.open(greet());
  expectTypeOf(open).returns.resolves.toEqualTypeOf<GreetClient>();
  const named = (client: Client) => client.open(greet(), "left", { signal: AbortSignal.abort() });
  expectTypeOf(named).returns.resolves.toEqualTypeOf<GreetClient>();
  // @ts-expect-error -- a name alone says nothing about the client
  const untyped = (client: Client) => client.open("shell");
  expectTypeOf(untyped).returns.resolves.toExtend<CapabilityClient>();
});
