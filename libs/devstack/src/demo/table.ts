/**
 * Rows of a tool's result as a small text table, or as lines of name and value where they are too wide for one. Pure.
 * Numbers are shown digit for digit, as the tool wrote them.
 */
import { wrap } from './wrap.ts';

const ROWS_MAX = 8;
const CELL_MAX = 32;

const NAME_MAX = 24;

/** The lines of `{"rows": [{…}, …]}`, or undefined when the text holds no rows. */
export function renderRows(json: string, width: number): string[] | undefined {
  const rows = parseRows(json);
  const [first, ...others] = rows ?? [];
  if (!rows || !first || Object.keys(first).length === 0) return undefined;
  // One row has room to show its long cells whole.
  const isCut = others.length === 0 && Object.values(first).some((value) => toText(value).length > CELL_MAX);
  const lines = isCut ? undefined : toTable(rows, Object.keys(first), width);
  const shown = lines ?? rows.slice(0, ROWS_MAX).flatMap((row, n) => [...(n > 0 ? [''] : []), ...toFields(row, width)]);
  const rest = rows.length > ROWS_MAX ? [`… ${rows.length - ROWS_MAX} more rows on the page`] : [];
  return [...shown, ...rest];
}

/** Undefined when it does not fit into `width`. */
function toTable(rows: readonly Row[], names: readonly string[], width: number): string[] | undefined {
  const shown = rows.slice(0, ROWS_MAX).map((row) => names.map((name) => cutText(toText(row[name]), CELL_MAX)));
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
  return [toLine(names), ...shown.map(toLine)];
}

/** One line a field, its value beside its name; long values go on below. */
function toFields(row: Row, width: number): string[] {
  const names = Object.keys(row).map((name) => cutText(name, NAME_MAX));
  const nameWidth = Math.max(...names.map((name) => name.length)) + 2;
  return Object.values(row).flatMap((value, field) =>
    wrap(toText(value), width - nameWidth).map((line, part) =>
      `${(part === 0 ? (names[field] ?? '') : '').padEnd(nameWidth)}${line}`.trimEnd(),
    ),
  );
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

function toText(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (value instanceof NumberText) return value.text;
  return (typeof value === 'string' ? value : JSON.stringify(value)).replaceAll(/\s+/g, ' ');
}

function cutText(text: string, charsMax: number): string {
  return text.length > charsMax ? `${text.slice(0, charsMax - 1)}…` : text;
}
