/**
 * The `rfb/3.8` capability: a factory that describes a VNC server, a client for computer use, and a service that runs a
 * screen.
 *
 * @module
 */
export { screen } from "./create_screen.ts";
export { encodePng } from "./encode_png.ts";
export type { Pixels } from "./encode_png.ts";
export type { Frame } from "./frame.ts";
export type { Rect } from "./rect.ts";
export { rfb } from "./rfb.ts";
export { rfbCapability } from "./rfb_capability.ts";
export type { RfbCapabilityOptions } from "./rfb_capability.ts";
export { RfbClient } from "./rfb_client.ts";
export type {
  ClickOptions,
  DragOptions,
  FrameOptions,
  PixelEncoding,
  PointerButton,
  PressOptions,
  RfbConnectOptions,
  ScreenshotOptions,
  ScrollOptions,
  SettleOptions,
  SpaceOptions,
  TypeOptions,
  WaitOptions,
} from "./rfb_client_options.ts";
export { Screen } from "./screen.ts";
export type { ScreenOptions, ScreenProgram } from "./screen_options.ts";
export type { ScreenUpdate } from "./screen_update.ts";
export type { Screenshot } from "./screenshot.ts";
