import assert from "node:assert/strict";
import { readFileSync, readdirSync } from "node:fs";
import { test } from "vitest";
import * as wire from "./mod.ts";

test("the root export is exactly this", () => {
  assert.deepEqual(Object.keys(wire).sort(), [
    "EnvportError",
    "ErrorCode",
    "FrameReader",
    "FramedStream",
    "Lifecycle",
    "MAX_FRAME_BYTES",
    "MAX_NESTING",
    "ProtocolError",
    "RequestError",
    "RpcClient",
    "RpcServer",
    "SOCKET_OPTIONS",
    "WebSocketStream",
    "consoleLogger",
    "encodeFrame",
    "formatCapabilityUrl",
    "formatEndpointUrl",
    "fromManifest",
    "isBlank",
    "isJsonObject",
    "linger",
    "makePrivateFolder",
    "normalizeUrl",
    "own",
    "parseCapabilityUrl",
    "parseEndpointUrl",
    "parseFrame",
    "protocolFamily",
    "readReply",
    "readRequest",
    "readToken",
    "refuse",
    "removePrivateFolder",
    "resetStream",
    "routeUrl",
    "splice",
    "toManifest",
    "unlessAborted",
    "wasReset",
  ]);
});

test("every public file is a subpath of the same name, and nothing else is", () => {
  const names = readdirSync(import.meta.dirname)
    .filter(
      (file) =>
        file.endsWith(".ts") && !file.startsWith("_") && !file.endsWith("_test.ts") && file !== "mod.ts",
    )
    .map((file) => file.slice(0, -3));
  const { exports } = JSON.parse(readFileSync(`${import.meta.dirname}/../package.json`, "utf8")) as {
    exports: Record<string, unknown>;
  };
  const { ".": root, "./package.json": manifest, ...subpaths } = exports;
  assert.deepEqual([typeof root, manifest], ["object", "./package.json"]);
  assert.deepEqual(
    subpaths,
    Object.fromEntries(
      names.map((name) => [
        `./${name.replaceAll("_", "-")}`,
        { "@envport/source": `./src/${name}.ts`, types: `./dist/${name}.d.ts`, default: `./dist/${name}.js` },
      ]),
    ),
  );
});
