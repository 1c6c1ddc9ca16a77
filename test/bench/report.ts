/** How benches report: medians and ratios of one run, never a single time. */

export function median(values: number[]): number {
  return quantile(values, 0.5);
}

/** The value below which the given share of the values lies. */
export function quantile(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export function printTable(title: string, rows: string[][]): void {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  const lines = rows.map((row) => row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join('   '));
  process.stdout.write(`\n${title}\n${lines.map((line) => `  ${line}`).join('\n')}\n`);
}
