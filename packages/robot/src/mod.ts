/**
 * The openpi/0 capability: msgpack-numpy codec, robot client, bridge and endpoint.
 *
 * @module
 */
export {};
