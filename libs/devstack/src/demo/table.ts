/**
 * Rows of a tool's result as a small text table. Pure. Numbers are shown digit for digit, as the tool wrote them.
 */

const ROWS_MAX = 8;
const CELL_MAX = 32;

/** The table of `{"rows": [{…}, …]}`, or undefined when the text holds no rows or they don't fit into `width`. */
export function renderTable(json: string, width: number): string[] | undefined {
  const rows = parseRows(json);
  const [first] = rows ?? [];
  if (!rows || !first) return undefined;
  const names = Object.keys(first);
  const shown = rows.slice(0, ROWS_MAX).map((row) => names.map((name) => toCell(row[name])));
  const widths = names.map((name, column) =>
    Math.max(name.length, ...shown.map((cells) => cells[column]?.length ?? 0)),
  );
  if (widths.reduce((sum, each) => sum + each + 2, 0) > width) return undefined;
  const isNumber = names.map((name) => rows.every((row) => row[name] instanceof NumberText));
  const toLine = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => (isNumber[column] ? cell.padStart(widths[column] ?? 0) : cell.padEnd(widths[column] ?? 0)))
      .join('  ')
      .trimEnd();
  const rest = rows.length > ROWS_MAX ? [`… ${rows.length - ROWS_MAX} more rows on the page`] : [];
  return [toLine(names), ...shown.map(toLine), ...rest];
}

/** A number with the digits that it came with; JavaScript's own would round. */
class NumberText {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
}

type Row = Record<string, unknown>;

function parseRows(json: string): Row[] | undefined {
  try {
    const keepDigits = (_key: string, value: unknown, context?: { source?: string }): unknown =>
      typeof value === 'number' ? new NumberText(context?.source ?? String(value)) : value;
    const { rows } = JSON.parse(json, keepDigits) as { rows?: unknown };
    return Array.isArray(rows) && rows.every(isRow) ? rows : undefined;
  } catch {
    return undefined;
  }
}

function isRow(value: unknown): value is Row {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof NumberText);
}

function toCell(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof NumberText) return value.text;
  const text = (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll(/\s+/g, ' ');
  return text.length > CELL_MAX ? `${text.slice(0, CELL_MAX - 1)}…` : text;
}
