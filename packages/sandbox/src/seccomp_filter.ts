import { SYSCALLS } from "./_syscall_numbers.ts";
import type { SyscallTable } from "./_syscall_numbers.ts";

/** One `struct sock_filter`: code, jump if true, jump if false, constant. */
type Instruction = readonly [code: number, jt: number, jf: number, k: number];

const LOAD = 0x20;
const JUMP_EQUAL = 0x15;
const JUMP_GREATER_EQUAL = 0x35;
const JUMP_ANY_BIT = 0x45;
const RETURN = 0x06;

const ALLOW = 0x7fff0000;
const KILL_PROCESS = 0x80000000;
const EPERM = 1;
const ENOSYS = 38;
const EAFNOSUPPORT = 97;
const errno = (number: number): number => 0x00050000 | number;

/** Offsets in `struct seccomp_data`, little-endian: the low halves of the 64-bit arguments are what the kernel uses. */
const OFFSET = { number: 0, audit: 4, argument0: 16, argument1: 24 };

/** Mounting, kernel state, keyrings, tracing of the machine: nothing an agent's tools use without capabilities. */
const REFUSED: readonly string[] = [
  "setns",
  "mount",
  "umount2",
  "pivot_root",
  "chroot",
  "open_tree",
  "open_tree_attr",
  "move_mount",
  "fsopen",
  "fsconfig",
  "fsmount",
  "fspick",
  "mount_setattr",
  "add_key",
  "request_key",
  "keyctl",
  "bpf",
  "perf_event_open",
  "userfaultfd",
  "kexec_load",
  "kexec_file_load",
  "init_module",
  "finit_module",
  "delete_module",
  "open_by_handle_at",
  "swapon",
  "swapoff",
  "reboot",
  "settimeofday",
  "clock_settime",
  "acct",
  "syslog",
  "quotactl",
  "quotactl_fd",
  "vhangup",
  "lookup_dcookie",
  "iopl",
  "ioperm",
  "uselib",
  "modify_ldt",
];

/** "No such call" makes programs fall back; clone3 hides its flags in memory, where a filter cannot look. */
const ABSENT: readonly string[] = ["io_uring_setup", "io_uring_enter", "io_uring_register", "clone3"];

/** CLONE_NEWTIME, NEWNS, NEWCGROUP, NEWUTS, NEWIPC, NEWUSER, NEWPID, NEWNET. */
const NEW_NAMESPACES = 0x7e020080;
/** In `clone` the low byte is the exit signal, so that CLONE_NEWTIME does not exist there. */
const CLONE_NEW_NAMESPACES = 0x7e020000;

/** TIOCSTI types into a terminal, TIOCLINUX pastes into a console. */
const REFUSED_IOCTLS = [0x5412, 0x541c];

/** AF_UNIX, AF_INET, AF_INET6, AF_NETLINK: the families that a network namespace contains. Not vsock, alg, packet. */
const ALLOWED_FAMILIES = [1, 2, 10, 16];

/** Refuses the call if the argument fits, given by instructions that end in "refuse" or jump over it. */
function refuseByArgument(
  number: number | undefined,
  offset: number,
  test: readonly Instruction[],
  verdict: number,
): Instruction[] {
  if (number === undefined) return [];
  return [
    [JUMP_EQUAL, 0, test.length + 3, number],
    [LOAD, 0, 0, offset],
    ...test,
    [RETURN, 0, 0, verdict],
    [LOAD, 0, 0, OFFSET.number],
  ];
}

/** Jumps over the verdict if the loaded value is none of these. */
const isOneOf = (values: readonly number[]): Instruction[] =>
  values.map((value, index) => [
    JUMP_EQUAL,
    values.length - 1 - index,
    index === values.length - 1 ? 1 : 0,
    value,
  ]);

/** Jumps over the verdict if the loaded value is one of these. */
const isNoneOf = (values: readonly number[]): Instruction[] =>
  values.map((value, index) => [JUMP_EQUAL, values.length - index, 0, value]);

function program({ audit, x32, numbers }: SyscallTable): Instruction[] {
  const always = (names: readonly string[], verdict: number): Instruction[] =>
    names.flatMap((name): Instruction[] => {
      const number = numbers[name];
      return number === undefined
        ? []
        : [
            [JUMP_EQUAL, 0, 1, number],
            [RETURN, 0, 0, verdict],
          ];
    });
  return [
    [LOAD, 0, 0, OFFSET.audit],
    [JUMP_EQUAL, 1, 0, audit],
    [RETURN, 0, 0, KILL_PROCESS],
    [LOAD, 0, 0, OFFSET.number],
    ...(x32
      ? ([
          [JUMP_GREATER_EQUAL, 0, 1, 0x40000000],
          [RETURN, 0, 0, errno(ENOSYS)],
        ] as const)
      : []),
    ...always(REFUSED, errno(EPERM)),
    ...always(ABSENT, errno(ENOSYS)),
    ...refuseByArgument(
      numbers.unshare,
      OFFSET.argument0,
      [[JUMP_ANY_BIT, 0, 1, NEW_NAMESPACES]],
      errno(EPERM),
    ),
    ...refuseByArgument(
      numbers.clone,
      OFFSET.argument0,
      [[JUMP_ANY_BIT, 0, 1, CLONE_NEW_NAMESPACES]],
      errno(EPERM),
    ),
    ...refuseByArgument(numbers.ioctl, OFFSET.argument1, isOneOf(REFUSED_IOCTLS), errno(EPERM)),
    ...["socket", "socketpair"].flatMap((name) =>
      refuseByArgument(numbers[name], OFFSET.argument0, isNoneOf(ALLOWED_FAMILIES), errno(EAFNOSUPPORT)),
    ),
    [RETURN, 0, 0, ALLOW],
  ];
}

/**
 * The seccomp filter of the sandbox, as `bwrap --seccomp` reads it: an array of `struct sock_filter`.
 *
 * It closes what namespaces and dropped capabilities leave open: kernel keyrings, bpf, perf, io_uring, userfaultfd,
 * vsock and the other socket families that no namespace contains, typing into terminals (TIOCSTI), and once more the
 * calls that make or join namespaces and mount. A foreign system call table (32-bit programs) ends the process.
 *
 * @param arch The processor, as in `process.arch`.
 * @returns 8 bytes per instruction, little-endian.
 * @throws {RangeError} If there is no table for the processor.
 *
 * @example
 * ```ts
 * import { seccompFilter } from "@envport/sandbox";
 * import assert from "node:assert/strict";
 *
 * assert.equal(seccompFilter("x64").length % 8, 0);
 * ```
 */
export function seccompFilter(arch: string = process.arch): Uint8Array {
  const table = Object.hasOwn(SYSCALLS, arch) ? SYSCALLS[arch] : undefined;
  if (table === undefined) {
    const known = Object.keys(SYSCALLS).join(", ");
    throw new RangeError(
      `Cannot make a seccomp filter as the processor is not one of ${known}: current value is "${arch}"`,
    );
  }
  const instructions = program(table);
  const bytes = new DataView(new ArrayBuffer(instructions.length * 8));
  for (const [index, [code, jt, jf, k]] of instructions.entries()) {
    bytes.setUint16(index * 8, code, true);
    bytes.setUint8(index * 8 + 2, jt);
    bytes.setUint8(index * 8 + 3, jf);
    bytes.setUint32(index * 8 + 4, k, true);
  }
  return new Uint8Array(bytes.buffer);
}
