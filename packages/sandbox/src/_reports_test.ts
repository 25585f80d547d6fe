import fc from "fast-check";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { MAX_REPORT_BYTES, parseReport, readReports } from "./_reports.ts";
import type { Report } from "./_reports.ts";

describe("parseReport()", () => {
  test.each<[string, Report | "nonsense" | undefined]>([
    ['{"op":"ready"}', { op: "ready" }],
    ['{"op":"started","id":3,"pid":7}', { op: "started", id: 3, pid: 7 }],
    ['{"op":"started","id":3,"pid":"7"}', "nonsense"],
    ['{"op":"exit","id":1,"code":3,"signal":null}', { op: "exit", id: 1, code: 3, signal: null }],
    [
      '{"op":"exit","id":1,"code":null,"signal":"SIGTERM"}',
      { op: "exit", id: 1, code: null, signal: "SIGTERM" },
    ],
    ['{"op":"exit","id":1,"code":256}', { op: "exit", id: 1, code: null, signal: "SIGKILL" }],
    [
      '{"op":"exit","id":1,"code":-1,"signal":"constructor"}',
      { op: "exit", id: 1, code: null, signal: "SIGKILL" },
    ],
    ['{"op":"exit","id":"in4","code":0}', { op: "exit", id: "in4", code: 0, signal: null }],
    ['{"op":"exit","id":"__proto__","code":0}', "nonsense"],
    ['{"op":"slots","slots":[[1,2,3,4]]}', { op: "slots", slots: [[1, 2, 3, 4]] }],
    ['{"op":"slots","slots":[[1,2,3,"../4"]]}', "nonsense"],
    ['{"op":"slots","slots":[[1,2,3]]}', "nonsense"],
    [`{"op":"slots","slots":[${"[1,2,3,4],".repeat(70)}[1,2,3,4]]}`, "nonsense"],
    ['{"op":"failed","id":1}', { op: "failed", id: 1, code: "", error: "" }],
    ['{"op":"toString"}', "nonsense"],
    ['{"__proto__":{"op":"ready"}}', "nonsense"],
    ["{}", "nonsense"],
    ["[]", "nonsense"],
    ["null", undefined],
    ["7", undefined],
    ["", undefined],
    ["{", undefined],
  ])("of %s", (line, report) => {
    expect(parseReport(line)).toEqual(report);
  });

  test("never throws, and cuts long texts", () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => void parseReport(JSON.stringify(value))));
    expect(parseReport(JSON.stringify({ op: "failed", id: 1, error: "x".repeat(5000) }))).toMatchObject({
      error: "x".repeat(1024),
    });
  });
});

describe("readReports()", () => {
  const read = async (bytes: Buffer, sizes: readonly number[]) => {
    const stream = new PassThrough();
    const reports: Report[] = [];
    let violations = 0;
    readReports(
      stream,
      (report) => reports.push(report),
      () => violations++,
    );
    for (let at = 0, index = 0; at < bytes.length; index++) {
      const size = sizes[index % sizes.length]!;
      stream.write(bytes.subarray(at, at + size));
      at += size;
    }
    await new Promise((resolve) => setImmediate(resolve));
    return { reports, violations };
  };

  test("gives the same reports however the bytes are cut", async () => {
    const text =
      '{"op":"ready"}\n{"op":"failed","id":1,"code":"é","error":"日本"}\n{"what":1}\n{"op":"started","id":2,"pid":3}\n';
    const whole = await read(Buffer.from(text), [1e6]);
    expect(whole).toMatchObject({
      violations: 0,
      reports: [{ op: "ready" }, { op: "failed", code: "é", error: "日本" }, { op: "started" }],
    });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1 }), async (sizes) => {
        expect(await read(Buffer.from(text), sizes)).toEqual(whole);
      }),
      { numRuns: 50 },
    );
  });

  test.each([
    ["a line that never ends", Buffer.alloc(MAX_REPORT_BYTES + 2, "x")],
    ["a line that is too long", Buffer.from(`{"op":"ready","x":"${"x".repeat(MAX_REPORT_BYTES)}"}\n`)],
    ["a line that is no JSON", Buffer.from('hello\n{"op":"ready"}\n')],
  ])("stops at %s, once", async (_, bytes) => {
    expect(await read(bytes, [4096])).toEqual({ reports: [], violations: 1 });
    expect(await read(Buffer.concat([bytes, bytes]), [100_000])).toMatchObject({ violations: 1 });
  });
});
