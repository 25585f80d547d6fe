import { describe, expect, test } from "vitest";
import { SYSCALLS } from "./_syscall_numbers.ts";
import { seccompFilter } from "./seccomp_filter.ts";

const ALLOW = 0x7fff0000;
const KILL = 0x80000000;
const EPERM = 0x00050001;
const ENOSYS = 0x00050026;
const EAFNOSUPPORT = 0x00050061;

/** Runs a classic BPF program over one `struct seccomp_data` and notes which instructions ran. */
function run(
  program: Uint8Array,
  data: { nr: number; audit: number; args?: bigint[] },
  ran = new Set<number>(),
): number {
  const code = new DataView(program.buffer, program.byteOffset, program.byteLength);
  const input = new DataView(new ArrayBuffer(64));
  input.setUint32(0, data.nr, true);
  input.setUint32(4, data.audit, true);
  data.args?.forEach((value, index) => input.setBigUint64(16 + index * 8, value, true));
  let accumulator = 0;
  for (let at = 0; at * 8 < program.length; at++) {
    ran.add(at);
    const k = code.getUint32(at * 8 + 4, true);
    const jump = (taken: boolean) => (at += code.getUint8(at * 8 + (taken ? 2 : 3)));
    switch (code.getUint16(at * 8, true)) {
      case 0x20:
        accumulator = input.getUint32(k, true);
        break;
      case 0x15:
        jump(accumulator === k);
        break;
      case 0x35:
        jump(accumulator >= k);
        break;
      case 0x45:
        jump((accumulator & k) !== 0);
        break;
      case 0x06:
        return k;
      default:
        throw new Error(`unknown instruction at ${at}`);
    }
  }
  throw new Error("ran off the end");
}

describe.each(["x64", "arm64"])("seccompFilter() for %s", (arch) => {
  const { audit, numbers, x32 } = SYSCALLS[arch]!;
  const filter = seccompFilter(arch);
  const verdict = (nr: number, ...args: bigint[]) => run(filter, { nr, audit, args });
  const byArgument = new Set(["ioctl", "socket", "socketpair", "clone", "unshare"]);
  const absent = new Set(["io_uring_setup", "io_uring_enter", "io_uring_register", "clone3"]);

  test("refuses each listed call and allows every other number", () => {
    const names = new Map(Object.entries(numbers).map(([name, number]) => [number, name]));
    for (let nr = 0; nr < 1024; nr++) {
      const name = names.get(nr);
      const expected =
        name === undefined || name === "ioctl" || name === "clone" || name === "unshare"
          ? ALLOW
          : absent.has(name)
            ? ENOSYS
            : byArgument.has(name)
              ? EAFNOSUPPORT
              : EPERM;
      expect(verdict(nr), `${nr} ${name}`).toBe(expected);
    }
  });

  test("refuses new namespaces of every kind and lets processes and threads start", () => {
    for (const flag of [0x00020000, 0x02000000, 0x04000000, 0x08000000, 0x10000000, 0x20000000, 0x40000000]) {
      expect(verdict(numbers.clone!, BigInt(flag) | 17n)).toBe(EPERM);
      expect(verdict(numbers.unshare!, BigInt(flag))).toBe(EPERM);
    }
    expect(verdict(numbers.unshare!, 0x80n), "a time namespace").toBe(EPERM);
    expect(verdict(numbers.unshare!, 0x400n), "own file table").toBe(ALLOW);
    expect(verdict(numbers.clone!, 0x01200011n), "fork").toBe(ALLOW);
    expect(verdict(numbers.clone!, 0x003d0f00n), "pthread_create").toBe(ALLOW);
  });

  test("refuses to type into terminals whatever the upper half of the argument says", () => {
    for (const request of [0x5412n, 0x541cn]) {
      expect(verdict(numbers.ioctl!, 0n, request)).toBe(EPERM);
      expect(verdict(numbers.ioctl!, 0n, (0xffffffffn << 32n) | request)).toBe(EPERM);
    }
    expect(verdict(numbers.ioctl!, 0n, 0x5401n)).toBe(ALLOW);
  });

  test("allows unix, inet, inet6 and netlink sockets alone", () => {
    for (let family = 0; family < 64; family++) {
      const expected = [1, 2, 10, 16].includes(family) ? ALLOW : EAFNOSUPPORT;
      expect(verdict(numbers.socket!, BigInt(family))).toBe(expected);
      expect(verdict(numbers.socketpair!, BigInt(family) | (7n << 32n))).toBe(expected);
    }
  });

  test("ends a process that uses another system call table", () => {
    expect(run(filter, { nr: 1, audit: 0x40000003 })).toBe(KILL);
    if (x32) expect(verdict(0x40000001)).toBe(ENOSYS);
  });

  test("has no instruction that nothing reaches", () => {
    const ran = new Set<number>();
    run(filter, { nr: 1, audit: 0x40000003 }, ran);
    if (x32) run(filter, { nr: 0x40000001, audit }, ran);
    for (const nr of Object.values(numbers)) {
      for (const value of [0n, 1n, 2n, 10n, 16n, 0x5412n, 0x541cn, 0x10000000n]) {
        run(filter, { nr, audit, args: [value, value] }, ran);
      }
    }
    expect(ran.size).toBe(filter.length / 8);
  });
});

test("seccompFilter() names the processors it knows", () => {
  expect(() => seccompFilter("mips")).toThrow(
    'Cannot make a seccomp filter as the processor is not one of x64, arm64: current value is "mips"',
  );
  expect(() => seccompFilter("constructor")).toThrow(RangeError);
});
