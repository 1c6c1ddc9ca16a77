/**
 * Tool kind `sql`: a read-only query of a named data source, fixed with `:name` parameters or taken from one argument.
 * Every statement runs in a read-only transaction that is rolled back. Must not write, and must not read rows without bound.
 */
import { RejectedError, type Tool } from '@pawl/contracts';
import { refusal, type Failure, type Outcome } from '../call/outcome.ts';
import type { Kind, KindCall } from './kind.ts';
import { boundValue } from './sql/bound-value.ts';
import { numberParameters } from './sql/named-parameters.ts';
import { AnswerTooLargeError, readRows, type ReadRows } from './sql/read-rows.ts';
import { tableJson } from './sql/row-json.ts';
import { loadSqlParser, parseSelect, type SelectStatement } from './sql/select-statement.ts';
import { sqlFailure } from './sql/sql-failure.ts';
import type { SqlSources } from './sql/sql-sources.ts';
import { tableAccessFailure } from './sql/table-access.ts';

const rowsMaxDefault = 1_000;

type Statement = { text: string; values: unknown[]; select: SelectStatement | undefined };

/** Makes the kind. `resultBytesMax` bounds the JSON text of one result. */
export function createSqlKind({ sources, resultBytesMax }: { sources: SqlSources; resultBytesMax: number }): Kind {
  return {
    check: checkSql,
    close: () => sources.close(),
    async execute(call) {
      const spec = call.tool.spec.sql;
      if (!spec) throw new TypeError('not a tool of kind sql');
      const opened = await sources.open(call.app, spec.source);
      if ('failure' in opened) return opened.failure;
      const { pool, tables } = opened.source;
      const prepared = await statementOf(call, tables !== undefined);
      if ('failure' in prepared) return prepared.failure;
      const { text, values, select } = prepared.statement;
      const rowsMax = spec.rowsMax ?? rowsMaxDefault;
      try {
        const read = await readRows<Failure>(pool, {
          text,
          values,
          rowsMax,
          bytesMax: resultBytesMax,
          deadlineAtMs: call.deadlineAtMs,
          spool: call.spool,
          onLife: call.onLife,
          signal: call.signal,
          ...(tables && select ? { admit: (ask) => tableAccessFailure(select, tables, ask) } : {}),
        });
        return 'kind' in read ? read : resultOf(read, rowsMax);
      } catch (error) {
        return failureOf(error);
      }
    },
  };
}

function failureOf(error: unknown): Outcome {
  if (error instanceof AnswerTooLargeError) return tooLarge();
  const failure = sqlFailure(error);
  if (failure) return failure;
  throw error;
}

function tooLarge(): Failure {
  const suggestion = 'Select fewer columns or rows, or aggregate.';
  return refusal('tool_result_too_large', 'The database sent more than the tool takes.', suggestion);
}

async function statementOf(
  call: KindCall,
  hasTableList: boolean,
): Promise<{ statement: Statement } | { failure: Failure }> {
  const { query, queryArgument } = call.tool.spec.sql ?? {};
  if (queryArgument === undefined) {
    const { text, names } = numberParameters(query ?? '');
    const values = names.map((name) => boundValue(call.args.members.get(name)));
    if (!hasTableList) return { statement: { text, values, select: undefined } };
    await loadSqlParser();
    const parsed = parseSelect(text);
    return 'failure' in parsed ? parsed : { statement: { text, values, select: parsed.statement } };
  }
  const sql = call.args.value[queryArgument];
  if (typeof sql !== 'string' || sql.trim() === '') {
    return { failure: refusal('invalid_arguments', `/${queryArgument}: expected a text with one SELECT statement.`) };
  }
  await loadSqlParser();
  const parsed = parseSelect(sql);
  return 'failure' in parsed ? parsed : { statement: { text: sql, values: [], select: parsed.statement } };
}

function resultOf({ columns, rows, stored, rowCount, stoppedAt }: ReadRows, rowsMax: number): Outcome {
  const reason = stoppedAt === 'rows' ? `${rowsMax} rows` : `${rowCount} rows, all that fit`;
  const more = `The query has more rows; only the first ${reason}, were read.`;
  if (stored) {
    const told = stoppedAt === 'end' ? `The table has ${rowCount} rows.` : more;
    return { ...stored, isCut: stoppedAt === 'bytes', note: `${told} Read them by row.` };
  }
  if (stoppedAt === 'bytes' && rows.length === 0) return tooLarge();
  const data = tableJson(columns, rows);
  return stoppedAt === 'end' ? { kind: 'result', data } : { kind: 'result', data, incomplete: more };
}

/** Every parameter of a fixed query has to be declared, and so does the argument that holds a query. */
function checkSql(tool: Tool): void {
  const { sql, parameters, effect } = tool.spec;
  if (!sql) throw new TypeError('not a tool of kind sql');
  if (effect === 'write') throw new RejectedError('not_supported', 'spec.effect: a tool of kind sql only reads');
  const declared = declaredParameters(parameters);
  const used = sql.queryArgument === undefined ? numberParameters(sql.query ?? '').names : [sql.queryArgument];
  const unknown = used.filter((name) => !declared.has(name));
  if (unknown.length === 0) return;
  const hint = sql.queryArgument === undefined ? ' (a slice of an array needs a space after its colon)' : '';
  throw new RejectedError(
    'invalid_request',
    `spec.sql uses ${unknown.join(', ')}, which spec.parameters.properties doesn't declare${hint}`,
  );
}

/** Names under `properties` of a tool's parameters. */
export function declaredParameters(parameters: Readonly<Record<string, unknown>> | undefined): ReadonlySet<string> {
  const properties = parameters?.['properties'];
  return new Set(typeof properties === 'object' && properties !== null ? Object.keys(properties) : []);
}
