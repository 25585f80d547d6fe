import type { Capability } from "@envport/wire";
import { normalizeUrl } from "@envport/wire";
import { MAX_PASSWORD_BYTES } from "./_vnc_password.ts";

/** What {@linkcode rfbCapability} describes. */
export interface RfbCapabilityOptions {
  /**
   * Unique within the environment.
   *
   * @default {"screen"}
   */
  name?: string | undefined;
  /** Where the VNC server listens: `host`, `host:port`, `[::1]:port` or a whole `rfb://` URL. */
  url: string;
  /** The VNC password, at most 8 bytes: the protocol has no more. */
  password?: string | undefined;
  /**
   * The display's number. Where the URL names no port it is 5900 and this.
   *
   * @default {0}
   */
  display?: number | undefined;
}

/**
 * Describes a VNC server as a capability of the family `rfb/3.8`.
 *
 * @param options The server's address, display and password.
 * @throws {TypeError} If the URL cannot be read.
 * @throws {RangeError} If the display is not 0 to 59635, or the password longer than 8 bytes: a server would cut it in
 *   silence.
 *
 * @example
 * ```ts
 * import { rfbCapability } from "@envport/rfb";
 * import assert from "node:assert/strict";
 *
 * const { url, params } = rfbCapability({ url: "127.0.0.1", display: 1 });
 * assert.deepEqual([url, params], ["rfb://127.0.0.1:5901", { display: 1 }]);
 * ```
 */
export function rfbCapability(options: RfbCapabilityOptions): Capability {
  const { name = "screen", url, password, display = 0 } = options;
  if (!Number.isInteger(display) || display < 0 || display > 59_635) {
    throw new RangeError(
      `Cannot describe VNC server as 'display' must be 0 to 59635: current value is ${String(display)}`,
    );
  }
  checkPassword(password);
  return {
    name,
    protocol: "rfb/3.8",
    url: normalizeUrl(url, { scheme: "rfb", port: 5900 + display }),
    params: { display, ...(password === undefined ? {} : { password }) },
  };
}

/** The value is a secret, so the message has its length. */
function checkPassword(password: string | undefined): void {
  const bytes = Buffer.byteLength(password ?? "");
  if (bytes > MAX_PASSWORD_BYTES) {
    throw new RangeError(
      `Cannot use VNC password as it must be at most 8 bytes: current value has ${String(bytes)} bytes`,
    );
  }
}
