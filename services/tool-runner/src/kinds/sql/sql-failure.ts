/** What Postgres and its connection throw, as failures with one sentence and what to try. Pure; the sentences are data. */
import sentences from './sql-states.json' with { type: 'json' };
import { TargetNotAllowedError } from '@pawl/service/targets';
import { refusal, type Failure } from '../../call/outcome.ts';

type PostgresError = Error & { code?: unknown; position?: unknown; detail?: unknown; hint?: unknown; where?: unknown };

const sentenceOf: Readonly<Record<string, { message: string; suggestion: string } | undefined>> = sentences;

/** The failure that an error of a query stands for; undefined when it is no error of the database or its connection. */
export function sqlFailure(error: unknown): Failure | undefined {
  if (!(error instanceof Error)) return undefined;
  if (error instanceof TargetNotAllowedError) return refusal('target_not_allowed', error.message);
  const { code } = error as PostgresError;
  const state = typeof code === 'string' ? code : undefined;
  if (state === undefined || !/^[0-9A-Z]{5}$/.test(state) || /^E[A-Z]{4}$/.test(state))
    return connectionFailure(error, state);
  if (/^(08|57P|53300)/.test(state)) return connectionFailure(error, state);
  const known = sentenceOf[state];
  return {
    kind: 'failure',
    code: state === '57014' ? 'tool_timeout' : 'tool_failed',
    message: `${known?.message ?? 'The database could not run the query.'}${named(error)} (SQLSTATE ${state})`,
    suggestion: known?.suggestion ?? 'Check the query, or use another tool.',
    rawError: rawText(error),
    isTransient: state.startsWith('40') || state === '55P03',
    effect: 'none',
  };
}

/** What the database quotes is the name to correct: `column "revenu" does not exist` → ` It names "revenu".` */
function named(error: PostgresError): string {
  const quoted =
    /"([^"]{1,100})"/.exec(error.message)?.[1] ?? /(?:column|relation) (\S{1,100}) does/.exec(error.message)?.[1];
  const position = typeof error.position === 'string' ? ` at character ${error.position}` : '';
  if (quoted !== undefined) return ` It is about "${quoted}"${position}.`;
  return position === '' ? '' : ` It is${position}.`;
}

function rawText(error: PostgresError): string {
  const parts = [error.message, error.detail, error.hint, error.where].filter((part) => typeof part === 'string');
  return `${String(error.code)}: ${parts.join('\n')}`;
}

const socketCode = /^(ECONN|EHOST|ENET|ENOTFOUND|EAI_|ETIMEDOUT|EPIPE|EADDR)/;

function connectionFailure(error: Error, code: string | undefined): Failure | undefined {
  const isConnection =
    (code !== undefined && (socketCode.test(code) || /^(08|57P|53300)/.test(code))) ||
    /terminated|timeout exceeded when trying to connect|Connection ended|not queryable|connection timeout/i.test(
      error.message,
    );
  if (!isConnection) return undefined;
  return {
    kind: 'failure',
    code: 'tool_unreachable',
    message: 'The database of this tool could not be reached.',
    suggestion: 'Call it again later, or use another tool.',
    rawError: `${code ?? error.name}: ${error.message}`,
    isTransient: true,
    effect: 'none',
  };
}
