import assert from "node:assert/strict";
import { once } from "node:events";
import net from "node:net";
import { test } from "vitest";
import { parseEndpoint } from "./_dial.ts";
import { Routes } from "./_routes.ts";
import { codeOf, rejection } from "./_testing.ts";

const binding = (name: string) => ({ name, protocol: "a/1", url: "tcp://127.0.0.1:7", params: {} });

function routes(): Routes {
  return new Routes({ endpoint: parseEndpoint("127.0.0.1:1"), direct: false, onRefused: () => {} });
}

const portOf = (all: Routes, name: string): number => Number(all.route(binding(name)).url.split(":").at(-1));

test("CLI-9: update() keeps the ports of what stays, and frees those of what goes", async () => {
  const all = routes();
  await all.update([binding("a"), binding("b")]);
  const [a, b] = [portOf(all, "a"), portOf(all, "b")];
  await all.update([binding("b"), binding("c")]);
  assert.equal(portOf(all, "b"), b);
  assert.equal(all.has(binding("a")), false);
  const [error] = (await once(net.connect(a, "127.0.0.1"), "error")) as [Error];
  assert.equal(codeOf(error), "ECONNREFUSED");
  await all.close();
  await all.close();
});

test("CLI-2: two bindings of one name share a port", async () => {
  const all = routes();
  await all.update([binding("a"), binding("a")]);
  assert.equal(all.has(binding("a")), true);
  await all.close();
});

test("close() while ports are being bound frees them as well", async () => {
  const all = routes();
  const updating = rejection(all.update([binding("a"), binding("b")]));
  await all.close();
  assert.equal(codeOf(await updating), "closed");
  assert.equal(all.has(binding("a")), false);
});
