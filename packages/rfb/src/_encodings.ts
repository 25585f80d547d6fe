/**
 * The encodings and pseudo-encodings by their numbers.
 *
 * @see {@link https://www.iana.org/assignments/rfb | IANA: Remote Framebuffer}
 */
export const Encoding = {
  raw: 0,
  copyRect: 1,
  rre: 2,
  hextile: 5,
  zlib: 6,
  tight: 7,
  zrle: 16,
  /** Tight's JPEG quality 0; 9 is -23. */
  quality: -32,
  desktopSize: -223,
  lastRect: -224,
  cursor: -239,
  /** Compression 0; 9 is -247. */
  compression: -256,
  qemuKey: -258,
  desktopName: -307,
  extendedDesktopSize: -308,
  fence: -312,
  continuousUpdates: -313,
  /** VMware's: where the pointer is. TigerVNC draws it into the picture for those who do not ask. */
  pointerPosition: 0x574d5666,
  /** LibVNCServer's own: who the server is. */
  serverIdentity: -0x1fffd,
  extendedClipboard: -0x3f5e1a32,
} as const;
