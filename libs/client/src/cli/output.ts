/** What the command line prints: plain sentences and columns, or JSON. Text of models and tools never reaches the terminal raw. */
import pc from 'picocolors';

export type Output = {
  /** The result: JSON with `--json`, otherwise `text`. */
  result(value: unknown, text: () => string): void;
  /** A line while work goes on; one JSON document a line with `--json`. */
  line(value: unknown, text: () => string | undefined): void;
  colors: ReturnType<typeof pc.createColors>;
};

export function createOutput(options: { isJson: boolean; hasColors: boolean; write(text: string): void }): Output {
  const line = (text: string | undefined) => text !== undefined && options.write(`${text}\n`);
  return {
    result: (value, text) => line(options.isJson ? JSON.stringify(value, null, 2) : text()),
    line: (value, text) => line(options.isJson ? JSON.stringify(value) : text()),
    colors: pc.createColors(options.hasColors),
  };
}

/** Without control characters (but line ends) and without marks that reorder text. */
export function safeText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what is looked for
  return text.replaceAll(/[\u0000-\u0009\u000B-\u001F\u007F-\u009F\u200E\u200F\u202A-\u202E\u2066-\u2069]/g, ' ');
}

/** Safe text on one line, cut at `charsMax`. */
export function shortText(text: string, charsMax = 200): string {
  const flat = safeText(text).replaceAll(/\s+/g, ' ').trim();
  return flat.length > charsMax ? `${flat.slice(0, charsMax)} …` : flat;
}

/** Columns under their names, as wide as their longest cell; those in `right` are numbers. */
export function table(names: string[], rows: string[][], right: ReadonlySet<string> = new Set()): string {
  const widths = names.map((name, column) => Math.max(name.length, ...rows.map((row) => (row[column] ?? '').length)));
  const toCell = (cell: string, column: number) =>
    right.has(names[column] ?? '') ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0);
  return [names, ...rows].map((row) => row.map(toCell).join('  ').trimEnd()).join('\n');
}
