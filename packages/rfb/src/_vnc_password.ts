import { createCipheriv } from "node:crypto";

/** A password is a DES key: what is longer is not looked at. */
export const MAX_PASSWORD_BYTES = 8;

/** The key that every VNC server hides its password file with. */
const FILE_KEY = Buffer.from("e84ad660c4721ae0", "hex");

/**
 * The answer to a server's challenge: RFC 6143, 7.2.2. The password's first 8 bytes are the key, as for every client.
 *
 * @param challenge 16 bytes.
 * @param password The secret.
 */
export function vncResponse(challenge: Uint8Array, password: string): Buffer {
  return des(mirrored(eightBytes(password)), challenge);
}

/**
 * The content of a password file, as `vncpasswd` writes it.
 *
 * @param password At most 8 bytes.
 */
export function vncPasswordFile(password: string): Buffer {
  return des(FILE_KEY, eightBytes(password));
}

function eightBytes(password: string): Buffer {
  const key = Buffer.alloc(MAX_PASSWORD_BYTES);
  Buffer.from(password, "utf8").copy(key);
  return key;
}

/** OpenSSL 3 has no DES any more; triple DES with the same key three times is the same function. */
function des(key: Buffer, data: Uint8Array): Buffer {
  const cipher = createCipheriv("des-ede3-ecb", Buffer.concat([key, key, key]), null).setAutoPadding(false);
  return Buffer.concat([cipher.update(data), cipher.final()]);
}

/** VNC takes the bits of each byte of the key from the other end. */
function mirrored(key: Buffer): Buffer {
  return key.map((byte) => {
    let mirror = 0;
    for (let bit = 0; bit < 8; bit++) mirror |= ((byte >> bit) & 1) << (7 - bit);
    return mirror;
  }) as Buffer;
}
