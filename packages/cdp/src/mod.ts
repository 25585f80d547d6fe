/**
 * The `cdp/1.3` capability: the factory that describes a browser, a client of the Chrome DevTools Protocol, and a service
 * that runs Chromium.
 *
 * @module
 */
export type { AccessibilityNode } from "./accessibility_node.ts";
export { cdp } from "./cdp.ts";
export { cdpCapability } from "./cdp_capability.ts";
export type { CdpCapabilityOptions } from "./cdp_capability.ts";
export { CdpClient } from "./cdp_client.ts";
export type { CdpClientEvents } from "./cdp_client.ts";
export type { CdpConnectOptions } from "./cdp_client_options.ts";
export type { CdpDialog } from "./cdp_dialog.ts";
export { CdpError } from "./cdp_error.ts";
export type { CdpErrorCode, CdpErrorInit } from "./cdp_error.ts";
export type { CdpCommands, CdpEvents, CdpResult, CdpSendArguments, CdpSendOptions } from "./cdp_messages.ts";
export { CdpPage } from "./cdp_page.ts";
export type { CdpPageEvents } from "./cdp_page.ts";
export type {
  ClickOptions,
  EvaluateOptions,
  GotoOptions,
  IdleOptions,
  LocateOptions,
  Point,
  ScreenshotOptions,
  ScrollOptions,
  TypeOptions,
} from "./cdp_page_options.ts";
export { chromium } from "./chromium.ts";
export type { ChromiumOptions } from "./chromium_options.ts";
export { ChromiumService } from "./chromium_service.ts";
export { findBrowser } from "./find_browser.ts";
export type { FindBrowserOptions, FoundBrowser } from "./find_browser.ts";
