import type { Rule } from "../requirement.ts";

/** "Connection grammar" of the contract. */
export const CONNECTION_RULES: readonly Rule[] = [
  {
    id: "CONN-1",
    source: "base",
    sides: ["server", "client"],
    sentence: "The first frame decides whether a connection is a session or a stream, for good",
  },
  {
    id: "CONN-2",
    source: "base",
    sides: ["server"],
    sentence: "Sessions and streams do not disturb each other, and a fault stays inside its connection",
  },
  {
    id: "CONN-3",
    source: "more",
    sides: ["server"],
    sentence: "First frames are bounded in time and size, connections in number",
  },
  {
    id: "CONN-4",
    source: "strict",
    sides: ["server"],
    sentence: "An invalid first line is answered once and closes the connection; nothing behind it is read",
    unseen: "the line in the log: it is in no byte on the wire",
  },
  {
    id: "CONN-5",
    source: "more",
    sides: ["server", "client"],
    sentence: "The session methods are the same on every transport",
    unseen: "all of it: the bench speaks tcp so far; the other transports come with their own scenarios",
  },
  {
    id: "CONN-6",
    source: "base",
    sides: ["server"],
    sentence: "A serving program binds loopback and announces its port once bound",
    unseen:
      "the order of services and hooks before the port, and what refuses to bind: it is inside the program",
  },
];
