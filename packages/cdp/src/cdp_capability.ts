import type { Capability } from "@envport/wire";
import { normalizeUrl } from "@envport/wire";

/** What {@linkcode cdpCapability} describes. */
export interface CdpCapabilityOptions {
  /**
   * Unique within the environment.
   *
   * @default {"browser"}
   */
  name?: string | undefined;
  /**
   * Where the browser's DevTools listen: `host`, `host:port`, or a `ws`, `wss`, `http` or `https` URL, whose path may be
   * that of a browser or page (`/devtools/browser/…`). The default scheme is `ws`, the default port 9222.
   */
  url: string;
  /** The page that a client is to work with; without it the first. */
  targetId?: string | undefined;
}

/**
 * Describes a browser as a capability of the family `cdp/1.3`, with the parameters under their wire names. What is not
 * given is left out.
 *
 * @param options The browser's address, and its page.
 * @throws {TypeError} If the URL cannot be read or has another scheme, or `targetId` is empty.
 *
 * @example
 * ```ts
 * import { cdpCapability } from "@envport/cdp";
 * import assert from "node:assert/strict";
 *
 * const capability = cdpCapability({ url: "127.0.0.1" });
 * assert.equal(capability.name, "browser");
 * assert.equal(capability.url, "ws://127.0.0.1:9222");
 * ```
 */
export function cdpCapability({ name = "browser", url, targetId }: CdpCapabilityOptions): Capability {
  if (url.includes("://") && !/^(?:ws|http)s?:\/\//i.test(url)) {
    throw new TypeError(
      `Cannot describe browser as its url must be ws, wss, http or https: current value is ${JSON.stringify(url)}`,
    );
  }
  if (targetId === "") {
    throw new TypeError(`Cannot describe browser as 'targetId' must not be empty: current value is ""`);
  }
  return {
    name,
    protocol: "cdp/1.3",
    url: normalizeUrl(url, { scheme: "ws", port: 9222 }),
    params: targetId === undefined ? {} : { target_id: targetId },
  };
}
