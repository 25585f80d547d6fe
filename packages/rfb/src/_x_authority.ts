import { randomBytes } from "node:crypto";

const WILD = Buffer.from([0xff, 0xff]);
const COOKIE_BYTES = 16;

/** An authority file of X with one new cookie, good for any display: who has the file may draw and type. */
export function xAuthority(): Buffer {
  const fields = ["", "", "MIT-MAGIC-COOKIE-1", randomBytes(COOKIE_BYTES)].map((field) => {
    const bytes = Buffer.from(field);
    return Buffer.concat([Buffer.from([bytes.length >> 8, bytes.length & 255]), bytes]);
  });
  return Buffer.concat([WILD, ...fields]);
}
