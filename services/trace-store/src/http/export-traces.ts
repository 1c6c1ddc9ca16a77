/**
 * `GET /v1/traces/export`: the runs of a filter as JSON Lines, with their records where they are asked for, or as CSV.
 * Read page by page while the client takes it, so its size is bounded by nobody's memory.
 */
import { Readable } from 'node:stream';
import { z } from 'zod';
import { RejectedError } from '@pawl/contracts';
import type { Database } from '@pawl/db';
import type { Http } from '@pawl/service';
import { inStoryOrder } from '../record/story.ts';
import { listRuns, type ListPlace, type RunFilter, type RunListItem } from '../store/read-runs.ts';
import type { BodyLimits } from '../store/record-rows.ts';
import type { Access, Lens } from './access.ts';
import { filterOf, filterShape } from './list-query.ts';
import { readStory } from './read-story.ts';
import { renderRecord } from './record-view.ts';
import { viewRun, type TracedRun } from './run-view.ts';

const pageRuns = 200;
const excerptChars = 1_000_000;
/** Bodies above these bounds are named by `bodyRef`. */
const bodyLimits: BodyLimits = { bodyBytesMax: 4_194_304, totalBytesMax: 67_108_864 };

const querySchema = z.strictObject({
  ...filterShape,
  format: z.enum(['jsonl', 'csv']).default('jsonl'),
  records: z.enum(['true', 'false']).default('false').describe('jsonl: each run is followed by its records'),
});

export function serveExportTraces(http: Http, { database, access }: { database: Database; access: Access }): void {
  const schema = { summary: 'Runs as JSON Lines or CSV', querystring: querySchema };
  http.get('/v1/traces/export', { onRequest: access.readers, schema }, async (request, reply) => {
    const { format, records, ...query } = request.query;
    if (format === 'csv' && records === 'true') {
      throw new RejectedError('invalid_request', 'records: only with format=jsonl');
    }
    const { app, lens } = await access.read(request, { action: 'export', detail: JSON.stringify(query) });
    const filter = filterOf(app, query);
    const lines =
      format === 'csv'
        ? csvLines(database, filter, lens)
        : jsonLines(database, { filter, lens, hasRecords: records === 'true' });
    return reply
      .type(format === 'csv' ? 'text/csv; charset=utf-8; header=present' : 'application/jsonl; charset=utf-8')
      .header('content-disposition', `attachment; filename="runs.${format}"`)
      .header('cache-control', 'private, no-store')
      .send(Readable.from(lines, { objectMode: false }));
  });
}

async function* allRuns(database: Database, filter: RunFilter): AsyncGenerator<RunListItem> {
  let after: ListPlace | undefined;
  do {
    const page = await listRuns(database, filter, { after, count: pageRuns, excerptChars });
    yield* page.rows;
    after = page.next;
  } while (after);
}

async function* jsonLines(
  database: Database,
  { filter, lens, hasRecords }: { filter: RunFilter; lens: Lens; hasRecords: boolean },
): AsyncGenerator<string> {
  for await (const row of allRuns(database, filter)) {
    const run = viewRun(row, lens);
    yield `${JSON.stringify({ type: 'run', ...run })}\n`;
    if (!hasRecords) continue;
    const records = await readStory(database, row, { lens, limits: bodyLimits });
    for (const record of inStoryOrder(records)) {
      const text = renderRecord(record, { step: undefined, traceId: run.traceId });
      yield `{"type":"record","runId":${JSON.stringify(run.id)},${text.slice(1)}\n`;
    }
  }
}

const csvColumns: [string, (run: TracedRun) => string | number | boolean | null][] = [
  ['id', ({ id }) => id],
  ['app', ({ app }) => app],
  ['agent', ({ agent }) => agent],
  ['status', ({ status }) => status],
  ['stop_reason', ({ stopReason }) => stopReason],
  ['question', ({ question }) => question],
  ['answer', ({ answer }) => answer],
  ['partial', ({ partial }) => partial],
  ['steps', ({ steps }) => steps],
  ['tool_calls', ({ toolCalls }) => toolCalls],
  ['tokens', ({ tokens }) => tokens],
  ['cost_usd', ({ cost }) => cost.amount],
  ['user', ({ user }) => user],
  ['session', ({ session }) => session],
  ['parent_run', ({ parent }) => parent?.runId ?? null],
  ['fork_of', ({ forkOf }) => forkOf?.runId ?? null],
  ['trace_id', ({ traceId }) => traceId],
  ['started_at', ({ startedAt }) => startedAt],
  ['ended_at', ({ endedAt }) => endedAt],
  ['duration_ms', ({ durationMs }) => durationMs],
];

async function* csvLines(database: Database, filter: RunFilter, lens: Lens): AsyncGenerator<string> {
  yield `${csvColumns.map(([name]) => name).join(',')}\r\n`;
  for await (const row of allRuns(database, filter)) {
    const run = viewRun(row, lens);
    yield `${csvColumns.map(([, valueOf]) => csvCell(valueOf(run))).join(',')}\r\n`;
  }
}

/** A cell by RFC 4180. Text that a spreadsheet would run as a formula gets an apostrophe in front. */
export function csvCell(value: string | number | boolean | null): string {
  if (value === null) return '';
  if (typeof value !== 'string') return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
