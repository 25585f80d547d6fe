/**
 * The cdp/1.3 capability: factory, Chrome DevTools client, and a service that runs Chromium.
 *
 * @module
 */
export {};
