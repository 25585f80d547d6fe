import type { Rule } from "../requirement.ts";

/** "Sessions" of the contract. */
export const SESSION_RULES: readonly Rule[] = [
  {
    id: "SESS-1",
    source: "base",
    sides: ["server"],
    sentence:
      "hello tells session, environment and bindings, at any time; a session exists from the first frame",
  },
  {
    id: "SESS-2",
    source: "base",
    sides: ["server"],
    sentence: "hello with another id resumes a parked session, and refuses unknown and live ones",
  },
  {
    id: "SESS-3",
    source: "strict",
    sides: ["server"],
    sentence: "Ids are sess- and 128 random bits in hex",
    unseen: "that the bits are random: the bench sees their number, and that none comes twice",
  },
  {
    id: "SESS-4",
    source: "base",
    sides: ["server"],
    sentence: "A drop parks the task, bye cancels it, and what came before an end is executed and answered",
  },
  {
    id: "SESS-5",
    source: "base",
    sides: ["server"],
    sentence: "A grade without a task adopts the only parked one, else it says none or lists several",
  },
  {
    id: "SESS-6",
    source: "strict",
    sides: ["server", "client"],
    sentence: "A retry never consumes another session's task; a result that got lost can be had once more",
    unseen: "that a stored result is given up after 15 minutes",
  },
  {
    id: "SESS-7",
    source: "more",
    sides: ["server"],
    sentence: "Parked tasks expire and are bounded in number, and their clean-up runs",
    unseen: "the expiry after an hour, and the log",
  },
  {
    id: "SESS-8",
    source: "more",
    sides: ["server"],
    sentence: "takeover takes a session from a connection that is still open, and closes that one",
  },
  {
    id: "SESS-9",
    source: "more",
    sides: ["server", "client"],
    sentence: "hello tells protocol and capabilities; a client works without them",
  },
  {
    id: "SESS-10",
    source: "more",
    sides: ["server", "client"],
    sentence: "With an access token set, the first frame must carry it",
    unseen: "all of it: access tokens come later, with their own scenarios",
  },
  {
    id: "SESS-11",
    source: "more",
    sides: ["server"],
    sentence: "Requests run in order; cancel, ping and hello are answered at once",
  },
];
