/** Many rows in one statement: one array parameter per column, put together again by `unnest`. */

/** A column with its SQL type and how its value is taken from a row. */
export type Column<Row> = { name: string; type: string; of: (row: Row) => string | number | boolean | null };

/** `unnest($1::text[], …) as rows(app, …)`; `first` is the number of the first parameter. */
export function unnestColumns<Row>(columns: readonly Column<Row>[], first = 1): string {
  const parameters = columns.map(({ type }, index) => `$${first + index}::${type}[]`).join(', ');
  return `unnest(${parameters}) as rows(${columns.map(({ name }) => name).join(', ')})`;
}

/** The values of the parameters that `unnestColumns` names, as Postgres writes arrays. */
export function columnArrays<Row>(columns: readonly Column<Row>[], rows: readonly Row[]): string[] {
  return columns.map(({ of }) => `{${rows.map((row) => elementOf(of(row))).join(',')}}`);
}

function elementOf(value: string | number | boolean | null): string {
  if (typeof value !== 'string') return String(value);
  return `"${/["\\]/.test(value) ? value.replaceAll(/["\\]/g, String.raw`\$&`) : value}"`;
}
