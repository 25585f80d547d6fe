/** One figure of a bench beside its reference. */
export interface Row {
  metric: string;
  unit: string;
  ours: number | null;
  reference: string;
  theirs: number | null;
  /** Better when larger. */
  ratio: number | null;
  target: number;
  ok: boolean | null;
  reason?: string;
}

/** The middle one of some figures. */
export function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

/**
 * Runs a bench as a program: with `--quick` less of everything, with `--json` its rows as one last line; it ends the process.
 *
 * @param bench Its name.
 * @param run Measures.
 * @param digits Of the figures that are printed for people.
 */
export async function runBench(
  bench: string,
  run: (options: { quick: boolean }) => Promise<Row[]>,
  digits = 1,
): Promise<never> {
  const rows = await run({ quick: process.argv.includes("--quick") });
  const width = Math.max(...rows.map(({ metric }) => metric.length));
  const figure = (value: number | null): string => (value === null ? "-" : value.toFixed(digits)).padStart(9);
  for (const { metric, unit, ours, reference, theirs, ratio, target, ok } of rows) {
    process.stderr.write(
      `${metric.padEnd(width)} ${figure(ours)} ${figure(theirs)} ${unit.padEnd(5)} ${ratio?.toFixed(2) ?? "-"} (${String(target)}) ${String(ok)}  ${reference}\n`,
    );
  }
  if (process.argv.includes("--json")) console.log(JSON.stringify({ bench, rows }));
  process.exit();
}
