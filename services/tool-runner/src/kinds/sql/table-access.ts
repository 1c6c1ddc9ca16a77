/**
 * Holds a query to the tables that its data source lists. The names come from Postgres' own parser, their meaning (search
 * path, temporary tables) from the database, in the same transaction as the query.
 * What it promises: every table and view that the query's text names is on the list, and functions that can run other SQL
 * or have side effects are refused. A view counts under its own name, and so do the functions of operators and casts not at
 * all; a role that may read nothing else is the stronger fence and should stand behind this one.
 */
import { refusal, type Failure } from '../../call/outcome.ts';
import type { Name, SelectStatement } from './select-statement.ts';

/** Asks the database, within the transaction of the query. Rows as text. */
export type AskDatabase = (sql: string, values: unknown[]) => Promise<(string | null)[][]>;

/** Functions that change from call to call but touch nothing. */
const harmlessVolatile = [
  'random',
  'clock_timestamp',
  'timeofday',
  'gen_random_uuid',
  'uuidv4',
  'uuidv7',
  'random_normal',
];

const resolveSql = `
  select 'table', asked, (
    select n.nspname || '.' || c.relname from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
    where c.oid = pg_catalog.to_regclass(asked))
  from pg_catalog.unnest($1::text[]) asked
  union all
  select 'function', asked, pg_catalog.bool_and(
    n.nspname = 'pg_catalog' and (p.provolatile <> 'v' or p.proname = any($3::text[])) and p.proname !~ '_to_xml')::text
  from pg_catalog.unnest($2::text[]) asked
  left join pg_catalog.pg_proc p on p.proname = asked
  left join pg_catalog.pg_namespace n on n.oid = p.pronamespace
  group by asked`;

/** The failure of a query that reaches beyond the allowed tables (`schema.table`), or undefined. */
export async function tableAccessFailure(
  statement: SelectStatement,
  allowed: readonly string[],
  ask: AskDatabase,
): Promise<Failure | undefined> {
  const tables = [...new Set(statement.tables.map(quoted))];
  const functions = [...new Set(statement.functions.map((called) => called.name))];
  if (tables.length === 0 && functions.length === 0) return undefined;
  const rows = await ask(resolveSql, [tables, functions, harmlessVolatile]);
  for (const [kind, asked, found] of rows) {
    if (kind === 'table' && found !== null && found !== undefined && !allowed.includes(found))
      return tableFailure(found, allowed);
    // A name that resolves to nothing is left to the query, which says so better. Functions fail closed.
    if (kind === 'function' && found === 'false') return functionFailure(asked ?? '');
  }
  return undefined;
}

function quoted({ schema, name }: Name): string {
  const quote = (text: string) => `"${text.replaceAll('"', '""')}"`;
  return schema === undefined ? quote(name) : `${quote(schema)}.${quote(name)}`;
}

function tableFailure(table: string, allowed: readonly string[]): Failure {
  const shown = allowed.slice(0, 20).join(', ');
  const more = allowed.length > 20 ? ` and ${allowed.length - 20} more` : '';
  return refusal(
    'tool_failed',
    `The query reads ${table}, which this tool may not read.`,
    `Tables that it may read: ${shown}${more}.`,
  );
}

function functionFailure(name: string): Failure {
  return refusal(
    'tool_failed',
    `The query calls the function ${name}, which this tool may not call.`,
    'Leave it out; use plain SQL.',
  );
}
