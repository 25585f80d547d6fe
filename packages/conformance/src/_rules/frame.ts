import type { Rule } from "../requirement.ts";

/** "Frames" and "Errors" of the contract. */
export const FRAME_RULES: readonly Rule[] = [
  {
    id: "FRAME-1",
    source: "base",
    sides: ["server", "client"],
    sentence: "A frame is one JSON object on one line, ended by 0x0A and by nothing else",
  },
  {
    id: "FRAME-2",
    source: "base",
    sides: ["server", "client"],
    sentence: "Frames arrive split or joined at any byte",
    unseen: "that decoding is linear in bytes: a time on a busy machine proves nothing",
  },
  {
    id: "FRAME-3",
    source: "base",
    sides: ["server", "client"],
    sentence: "Bytes behind the preface line belong to the stream; none is lost or parsed",
  },
  {
    id: "FRAME-4",
    source: "strict",
    sides: ["server", "client"],
    sentence: "A line over the limit gets one error that names the limit, and the connection is closed",
    unseen: "the memory of the other process",
  },
  {
    id: "FRAME-5",
    source: "strict",
    sides: ["server", "client"],
    sentence: "A frame over the limit is never sent: a clear error instead, and the connection stays usable",
  },
  {
    id: "FRAME-6",
    source: "strict",
    sides: ["server"],
    sentence:
      "Inside a session a line that is no JSON gets -32700 and the session goes on, up to three in a row",
  },
  {
    id: "FRAME-7",
    source: "strict",
    sides: ["server"],
    sentence: "JSON that is no request gets -32600 or -32602, and the session goes on",
  },
  {
    id: "FRAME-8",
    source: "base",
    sides: ["server"],
    sentence: "A frame without an id is executed and never answered",
  },
  {
    id: "FRAME-9",
    source: "base",
    sides: ["server", "client"],
    sentence: "Ids come back exactly as sent; jsonrpc is 2.0 on what is sent and not asked for",
  },
  {
    id: "FRAME-10",
    source: "strict",
    sides: ["server"],
    sentence: "Only JSON numbers go out, and keys such as __proto__ are data",
  },
  {
    id: "FRAME-11",
    source: "base",
    sides: ["server", "client"],
    sentence: "Output is compact, its keys in the order jsonrpc, id, result or error",
  },
  {
    id: "ERR-1",
    source: "base",
    sides: ["server"],
    sentence: "An error has a code and a message, and a machine-readable type in its data",
    unseen: "the type of an error about tokens, which come later",
  },
  {
    id: "ERR-2",
    source: "base",
    sides: ["server"],
    sentence: "Messages keep the words that peers match on",
  },
  {
    id: "ERR-3",
    source: "strict",
    sides: ["server"],
    sentence: "What a task says crosses the wire; stack traces, paths and texts of system errors do not",
  },
];
