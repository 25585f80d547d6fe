import type { Rule } from "../requirement.ts";

/** "Client" of the contract. */
export const CLIENT_RULES: readonly Rule[] = [
  {
    id: "CLI-1",
    source: "base",
    sides: ["client"],
    sentence: "connect retries until the environment answers; an error frame is final at once",
  },
  {
    id: "CLI-2",
    source: "base",
    sides: ["client"],
    sentence:
      "A loopback forwarder per binding; binding(ref) finds by name, protocol or family and routes the url",
  },
  {
    id: "CLI-3",
    source: "strict",
    sides: ["client"],
    sentence: "A binding on a public address goes through the control port by default",
    unseen: "certificates of https bindings: they are the business of the protocols' clients",
  },
  {
    id: "CLI-4",
    source: "base",
    sides: ["client"],
    sentence: "open connects once, retries a connection that fails, and closes with the client",
  },
  {
    id: "CLI-5",
    source: "base",
    sides: ["client"],
    sentence:
      "Calls are serialized and matched by id; what breaks the protocol or the line fails them at once",
  },
  {
    id: "CLI-6",
    source: "base",
    sides: ["client"],
    sentence: "Closing sends no bye; bye does",
  },
  {
    id: "CLI-7",
    source: "strict",
    sides: ["client"],
    sentence:
      "A heartbeat while no call is pending; one that fails ends the connection, an error frame does not",
    unseen: "the default of 120 s: the bench asks for a short one",
  },
  {
    id: "CLI-8",
    source: "more",
    sides: ["client"],
    sentence: "A refused tunnel is reported, and the local connection is reset",
  },
  {
    id: "CLI-9",
    source: "more",
    sides: ["client"],
    sentence: "A lost connection is resumed by id, and local ports stay as they were",
  },
];
