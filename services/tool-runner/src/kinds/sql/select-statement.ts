/**
 * Looks into SQL that a model wrote, with Postgres' own parser: exactly one SELECT, and which tables and functions it names.
 * Pure after the parser was loaded. It reads names; what they stand for is asked of the database.
 */
import { loadModule, parseSync } from 'libpg-query';
import { refusal, type Failure } from '../../call/outcome.ts';

export type Name = { schema: string | undefined; name: string };

export type SelectStatement = { tables: Name[]; functions: Name[] };

/** Loads the parser; once per process is enough, more often does no harm. */
export const loadSqlParser: () => Promise<void> = loadModule;

/** The names in one SELECT statement, or the failure that says why the text isn't one. */
export function parseSelect(sql: string): { statement: SelectStatement } | { failure: Failure } {
  if (sql.trim() === '') return { failure: notReadable('The query is empty.') };
  let statements: unknown[];
  try {
    statements = (parseSync(sql).stmts ?? []).map((raw) => raw.stmt);
  } catch (error) {
    return { failure: syntaxFailure(error) };
  }
  const [node, ...others] = statements;
  if (node === undefined || others.length > 0) {
    return { failure: notReadable('The query has to be exactly one statement.') };
  }
  const select = member(node, 'SelectStmt');
  if (select === undefined) return { failure: notReadable('The query has to be a SELECT; this tool only reads.') };
  const statement: SelectStatement = { tables: [], functions: [] };
  const problem = collect(select, statement);
  return problem === undefined ? { statement } : { failure: notReadable(problem) };
}

type Pending = { node: unknown; commonTables: ReadonlySet<string> };

/** Walks the whole tree; gives a sentence when something in it writes or locks. */
function collect(root: unknown, into: SelectStatement): string | undefined {
  const pending: Pending[] = [{ node: root, commonTables: new Set() }];
  for (let next = pending.pop(); next; next = pending.pop()) {
    const { node } = next;
    if (typeof node !== 'object' || node === null) continue;
    const commonTables = enterWith(next, pending);
    for (const [kind, child] of Object.entries(node)) {
      if (/^(Insert|Update|Delete|Merge)Stmt$/.test(kind)) return 'The query changes data; this tool only reads.';
      if (kind === 'intoClause') return 'SELECT INTO makes a table; this tool only reads.';
      if (kind === 'lockingClause') return 'The query locks rows; leave out FOR UPDATE and FOR SHARE.';
      if (kind === 'RangeVar') addTable(child, { into, commonTables });
      if (kind === 'FuncCall') into.functions.push(nameOf(member(child, 'funcname')));
      if (kind !== 'withClause') pending.push({ node: child, commonTables });
    }
  }
  return undefined;
}

/**
 * Puts the subqueries of a WITH on the list, each with the names that it can see: those before it, or all when RECURSIVE.
 * Gives the names that the rest of the statement sees. So `with t as (select * from t)` still names the table t.
 */
function enterWith({ node, commonTables }: Pending, pending: Pending[]): ReadonlySet<string> {
  const clause = member(node, 'withClause');
  const tables = member(clause, 'ctes');
  if (!Array.isArray(tables)) return commonTables;
  const nameOfTable = (table: unknown) => String(member(member(table, 'CommonTableExpr'), 'ctename'));
  const all = new Set([...commonTables, ...tables.map(nameOfTable)]);
  tables.forEach((table, at) => {
    const seen = new Set([...commonTables, ...tables.slice(0, at).map(nameOfTable)]);
    pending.push({ node: table, commonTables: member(clause, 'recursive') === true ? all : seen });
  });
  return all;
}

function addTable(
  node: unknown,
  { into, commonTables }: { into: SelectStatement; commonTables: ReadonlySet<string> },
): void {
  const name = member(node, 'relname');
  const schema = member(node, 'schemaname');
  if (typeof name !== 'string') return;
  if (schema === undefined && commonTables.has(name)) return;
  into.tables.push({ schema: typeof schema === 'string' ? schema : undefined, name });
}

function nameOf(parts: unknown): Name {
  const texts = (Array.isArray(parts) ? parts : [])
    .map((part) => member(member(part, 'String'), 'sval'))
    .filter((text) => typeof text === 'string');
  return { schema: texts.length > 1 ? texts.at(-2) : undefined, name: texts.at(-1) ?? '' };
}

function member(node: unknown, name: string): unknown {
  return typeof node === 'object' && node !== null ? (node as Record<string, unknown>)[name] : undefined;
}

function notReadable(message: string): Failure {
  return refusal('tool_failed', message, 'Write one SELECT statement.');
}

function syntaxFailure(error: unknown): Failure {
  const message = error instanceof Error ? error.message : String(error);
  const details = member(error, 'sqlDetails');
  const position = member(details, 'cursorPosition');
  const place = typeof position === 'number' ? ` at character ${position + 1}` : '';
  return {
    ...refusal(
      'tool_failed',
      `The query has a syntax error${place}: ${message.slice(0, 200)}. (SQLSTATE 42601)`,
      "Correct the SQL near that place. PostgreSQL's dialect is spoken here.",
    ),
    rawError: message,
  };
}
