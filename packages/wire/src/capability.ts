import { isJsonObject, own } from "./json.ts";
import type { JsonObject } from "./json.ts";

/**
 * A connection that an environment offers: plain data, published in the reply to `hello`. Where something serves it and
 * how to speak to it, nothing more; each protocol package has a factory that makes one.
 */
export interface Capability {
  /** Unique within the environment: `"shell"`, `"browser"`. */
  name: string;
  /** Wire id, family and version: `"ssh/2"`. */
  protocol: string;
  /** Where the daemon listens: scheme, host and port, all explicit. */
  url: string;
  /** What a client of that protocol needs to know, under its wire names. */
  params: JsonObject;
}

/**
 * The capability as it stands in a manifest: its four members and no other, whatever else the object carries.
 *
 * @param capability The capability to publish.
 *
 * @example
 * ```ts
 * import { fromManifest, toManifest } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * const capability = { name: "echo", protocol: "tcp/1", url: "tcp://127.0.0.1:7", params: {} };
 * assert.deepEqual(fromManifest(toManifest(capability)), capability);
 * ```
 */
export function toManifest(capability: Capability): JsonObject {
  const { name, protocol, url, params } = capability;
  return { name, protocol, url, params: { ...params } };
}

/**
 * Reads a binding that a peer published. Absent or null `params` become an empty object; unknown members are dropped.
 *
 * @param data One element of `bindings` in the reply to `hello`.
 * @throws {TypeError} If `name`, `protocol` or `url` is not a non-empty string, or `params` is not an object.
 *
 * @example
 * ```ts
 * import { fromManifest } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * const { params } = fromManifest({ name: "echo", protocol: "tcp/1", url: "tcp://127.0.0.1:7" });
 * assert.deepEqual(params, {});
 * ```
 */
export function fromManifest(data: unknown): Capability {
  if (!isJsonObject(data)) throw wrong("it must be an object", data);
  const text = (key: string): string => {
    const value = own(data, key);
    if (typeof value !== "string" || value === "") throw wrong(`'${key}' must be a non-empty string`, value);
    return value;
  };
  const params = own(data, "params") ?? {};
  if (!isJsonObject(params)) throw wrong("'params' must be an object", params);
  return { name: text("name"), protocol: text("protocol"), url: text("url"), params: { ...params } };
}

/**
 * The part of a protocol id before the slash.
 *
 * @param protocol A whole id; one without a slash is its own family.
 *
 * @example
 * ```ts
 * import { protocolFamily } from "@envport/wire";
 * import assert from "node:assert/strict";
 *
 * assert.equal(protocolFamily("ssh/2"), "ssh");
 * ```
 */
export function protocolFamily(protocol: string): string {
  return protocol.split("/", 1)[0]!;
}

function wrong(rule: string, value: unknown): TypeError {
  const message = `Cannot read binding as ${rule}: current value is ${JSON.stringify(value)}`;
  return new TypeError(message.slice(0, 200));
}
