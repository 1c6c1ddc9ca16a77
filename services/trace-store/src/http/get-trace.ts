/** `GET /v1/traces/{runId}`: a run with its records in story order, and what is missing of it. */
import { z } from 'zod';
import { RejectedError } from '@pawl/contracts';
import type { Database } from '@pawl/db';
import type { Http } from '@pawl/service';
import type { Policy } from '../retention/policy.ts';
import { inStoryOrder, missingSlots, stepsByThought } from '../record/story.ts';
import { findRun } from '../store/read-runs.ts';
import type { ArrangedRecord } from '../otlp/arrange-spans.ts';
import type { BodyLimits } from '../store/record-rows.ts';
import { readUnreadable, type UnreadableSlot } from '../store/rejected-rows.ts';
import type { Access, Lens } from './access.ts';
import { readStory } from './read-story.ts';
import { renderRecord } from './record-view.ts';
import { viewRun, type TracedRun } from './run-view.ts';

const bodyLimits: BodyLimits = { bodyBytesMax: 65_536, totalBytesMax: 4_194_304 };

export function serveGetTrace(
  http: Http,
  { database, access, policy }: { database: Database; access: Access; policy: Policy },
): void {
  const schema = { summary: 'A run with its records in story order', params: z.object({ runId: z.string() }) };
  http.get('/v1/traces/:runId', { onRequest: access.readers, schema }, async (request, reply) => {
    const { runId } = request.params;
    const { app, lens } = await access.read(request, { action: 'trace', ...(isRunId(runId) ? { runId } : {}) });
    const key = { app, runId };
    if (!isRunId(runId)) throw unknownRun();
    const row = await findRun(database, key);
    if (!row) throw unknownRun();
    const unreadable = await readUnreadable(database, key);
    const version = `"${row.records}-${unreadable.length}-${row.is_lost ? 'lost' : row.status}-${lens}"`;
    void reply.header('etag', version).header('cache-control', 'private, no-cache');
    if (request.headers['if-none-match'] === version) return reply.code(304).send();
    const records = await readStory(database, row, { lens, limits: bodyLimits });
    const run = viewRun(row, lens);
    const traceUrl = run.traceId === null ? undefined : policy.traceUrlOf(app)?.replace('{traceId}', run.traceId);
    const trace = { run, records, unreadable, links: { trace: traceUrl ?? null }, lens };
    return reply.type('application/json; charset=utf-8').send(renderTrace(trace));
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

type Links = {
  /** Where the run's trace can be seen elsewhere. */
  trace: string | null;
};
type Trace = {
  run: TracedRun;
  records: ArrangedRecord[];
  unreadable: UnreadableSlot[];
  links: Links;
  /** Whether the reader gets to see thoughts. */
  lens: Lens;
};

function renderTrace({ run, records, unreadable, links, lens }: Trace): string {
  const steps = stepsByThought(records);
  // Nobody knows which spans another agent would have had.
  const isComplete = run.source === 'otlp';
  const missing = isComplete ? [] : missingSlots(records, new Set(unreadable.map(({ slot }) => slot)));
  const items = inStoryOrder(records).map((record) =>
    renderRecord(record, { step: record.m === null ? undefined : steps.get(record.m), traceId: run.traceId }),
  );
  const tail = JSON.stringify({ missing, unreadable, links, lens });
  return `{"run":${JSON.stringify(run)},"records":[${items.join(',')}],${tail.slice(1)}`;
}
