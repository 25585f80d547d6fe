import { hostName } from "@envport/sandbox";
import type { Peer } from "@envport/sandbox";

/** From here on peers have ports on the browser's loopback. */
const FIRST_PORT = 40_000;
const MAX_PEERS = 1_000;

/** A peer, and its port on the browser's loopback, where any user may listen. */
export interface PlacedPeer {
  /** `shop:80`: what the browser calls it. */
  readonly address: string;
  readonly port: number;
  readonly target: Peer["target"];
}

/**
 * Gives each peer a port of its own on the browser's loopback.
 *
 * @throws {TypeError} If a name is no lower-case host name, means the loopback, or stands there twice with its port.
 * @throws {RangeError} If a port is not from 1 to 65535, or there are more than a thousand.
 */
export function placePeers(peers: readonly Peer[]): PlacedPeer[] {
  if (peers.length > MAX_PEERS) {
    throw new RangeError(
      `Cannot place peers as there may be ${String(MAX_PEERS)}: current value is ${String(peers.length)}`,
    );
  }
  const seen = new Set<string>();
  return peers.map(({ name, port, target }, index) => {
    if (hostName(name) !== name || /(?:^|\.)localhost$/.test(name)) {
      throw new TypeError(
        `Cannot name a peer as its name must be a lower-case host name and not mean the loopback: current value is ${JSON.stringify(name)}`,
      );
    }
    if (!Number.isInteger(port) || port < 1 || port > 65_535) {
      throw new RangeError(
        `Cannot place a peer as its port must be 1 to 65535: current value is ${String(port)}`,
      );
    }
    const address = `${name}:${String(port)}`;
    if (seen.has(address)) {
      throw new TypeError(
        `Cannot place a peer as its name and port must be its own: current value is "${address}"`,
      );
    }
    seen.add(address);
    return { address, port: FIRST_PORT + index, target };
  });
}
