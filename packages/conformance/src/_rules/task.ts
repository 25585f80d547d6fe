import type { Rule } from "../requirement.ts";

/** "Tasks" of the contract. */
export const TASK_RULES: readonly Rule[] = [
  {
    id: "TASK-1",
    source: "base",
    sides: ["server"],
    sentence: "tasks.list tells ids, descriptions and object schemas of the arguments' input side",
  },
  {
    id: "TASK-2",
    source: "base",
    sides: ["server"],
    sentence: "tasks.start runs to the first yield and replaces the earlier task, also if it then fails",
  },
  {
    id: "TASK-3",
    source: "base",
    sides: ["server"],
    sentence: "Args get their types and defaults before any code runs; what does not validate is refused",
  },
  {
    id: "TASK-4",
    source: "base",
    sides: ["server"],
    sentence: "tasks.grade sends the answer in: as it is, or parsed beside its raw text",
  },
  {
    id: "TASK-5",
    source: "base",
    sides: ["server"],
    sentence: "The second yield is the evaluation; what is none is an error, and none at all scores 0",
  },
  {
    id: "TASK-6",
    source: "base",
    sides: ["server"],
    sentence: "Clean-up and task-end hooks have run when the reply to a grade is sent",
  },
  {
    id: "TASK-7",
    source: "base",
    sides: ["server"],
    sentence: "A start that throws or yields nothing is an error and leaves no task",
  },
  {
    id: "TASK-8",
    source: "base",
    sides: ["server"],
    sentence: "tasks.cancel ends the task, also one that is starting or being graded",
    unseen: "the report of an abandoned task in the log",
  },
  {
    id: "TASK-9",
    source: "more",
    sides: ["server"],
    sentence: "A time-out of a task is an error, never a score",
  },
  {
    id: "TASK-10",
    source: "more",
    sides: ["server"],
    sentence: "ping is answered; progress is told to whoever asked for it, and to nobody else",
  },
  {
    id: "TASK-11",
    source: "more",
    sides: ["server"],
    sentence: "A server that is told to stop cleans every task up and is gone",
    unseen: "the order of hooks, and children that might be left",
  },
];

/** "Tunnels" of the contract. */
export const TUNNEL_RULES: readonly Rule[] = [
  {
    id: "TUN-1",
    source: "base",
    sides: ["server"],
    sentence: "tunnel.open dials the published binding, answers once, and splices",
    unseen: "a dial target that never crosses the wire",
  },
  {
    id: "TUN-2",
    source: "base",
    sides: ["server"],
    sentence: "A tunnel that cannot be opened gets one error frame, and the connection is closed",
  },
  {
    id: "TUN-3",
    source: "base",
    sides: ["server", "client"],
    sentence: "An end in one direction is passed on as an end, a reset as a reset",
    unseen: "the time-out of a half-closed tunnel, two minutes",
  },
  {
    id: "TUN-4",
    source: "base",
    sides: ["server", "client"],
    sentence: "A reader that stalls stops the sender, and nothing is lost",
    unseen: "the exact memory: kernels hold some MiB of their own",
  },
  {
    id: "TUN-5",
    source: "more",
    sides: ["server", "client"],
    sentence: "Dials time out, and connections are kept alive and send small writes at once",
    unseen: "all of it: socket options are in no byte, and times on a busy machine prove nothing",
  },
  {
    id: "TUN-6",
    source: "more",
    sides: ["server"],
    sentence: "Streams and bytes are counted per binding",
    unseen: "all of it: the figures are an interface of the server, not of the wire",
  },
];
