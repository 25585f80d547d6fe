/**
 * The rfb/3.8 capability: factory, VNC client for computer use, and a service that runs a screen.
 *
 * @module
 */
export {};
