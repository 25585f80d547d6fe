/**
 * The control-channel contract as a bench for any server or client.
 *
 * @module
 */
export {};
