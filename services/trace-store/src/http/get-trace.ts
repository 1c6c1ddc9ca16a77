/** `GET /v1/traces/{runId}`: a run with its records in story order, and what is missing of it. */
import { z } from 'zod';
import { RejectedError } from '@pawl/contracts';
import type { Database } from '@pawl/db';
import type { Authorizer, Http } from '@pawl/service';
import { inStoryOrder, missingSlots, stepsByThought } from '../record/story.ts';
import { findRun } from '../store/read-runs.ts';
import { readRecords, type BodyLimits, type StoredRecord } from '../store/record-rows.ts';
import { readUnreadable, type UnreadableSlot } from '../store/rejected-rows.ts';
import { renderRecord } from './record-view.ts';
import { viewRun, type TracedRun } from './run-view.ts';

const bodyLimits: BodyLimits = { bodyBytesMax: 65_536, totalBytesMax: 4_194_304 };

export function serveGetTrace(
  http: Http,
  { database, authorizeApp }: { database: Database; authorizeApp: Authorizer['authorizeApp'] },
): void {
  http.get('/v1/traces/:runId', { schema: { params: z.object({ runId: z.string() }) } }, async (request, reply) => {
    const { app } = authorizeApp(request, 'traces');
    const key = { app, runId: request.params.runId };
    if (!isRunId(key.runId)) throw unknownRun();
    const row = await findRun(database, key);
    if (!row) throw unknownRun();
    const unreadable = await readUnreadable(database, key);
    const version = `"${row.records}-${unreadable.length}"`;
    void reply.header('etag', version).header('cache-control', 'private, no-cache');
    if (request.headers['if-none-match'] === version) return reply.code(304).send();
    const records = await readRecords(database, key, bodyLimits);
    return reply.type('application/json; charset=utf-8').send(renderTrace({ run: viewRun(row), records, unreadable }));
  });
}

/** Whether a text can be a run's id at all; others never reach the database. */
export function isRunId(text: string): boolean {
  return /^[A-Za-z0-9_-]{1,200}$/.test(text);
}

/** The same for a run that does not exist and for another app's. */
export function unknownRun(): RejectedError {
  return new RejectedError('unknown_run', 'the app has no run with this id');
}

type Trace = { run: TracedRun; records: StoredRecord[]; unreadable: UnreadableSlot[] };

function renderTrace({ run, records, unreadable }: Trace): string {
  const steps = stepsByThought(records);
  const missing = missingSlots(records, new Set(unreadable.map(({ slot }) => slot)));
  const items = inStoryOrder(records).map((record) =>
    renderRecord(record, { step: record.m === null ? undefined : steps.get(record.m), traceId: run.traceId }),
  );
  const tail = JSON.stringify({ missing, unreadable });
  return `{"run":${JSON.stringify(run)},"records":[${items.join(',')}],${tail.slice(1)}`;
}
