/** The records of a run as a reader gets to see them: spans of other agents as turns, and without thoughts where they are not his to read. */
import type { Database } from '@pawl/db';
import { arrangeSpans, type ArrangedRecord } from '../otlp/arrange-spans.ts';
import { explainSpan } from '../otlp/explain-span.ts';
import { explain } from '../record/explain.ts';
import type { RunListItem } from '../store/read-runs.ts';
import { readRecords, type BodyLimits, type RecordRange } from '../store/record-rows.ts';
import type { Lens } from './access.ts';

export type StoryOptions = { lens: Lens; limits: BodyLimits; range?: RecordRange };

/** The records of a run that was found, not sorted. */
export async function readStory(
  database: Database,
  row: RunListItem,
  { lens, limits, range }: StoryOptions,
): Promise<ArrangedRecord[]> {
  const key = { app: row.app, runId: row.run_id };
  const stored = await readRecords(database, { ...key, ...range }, limits);
  const records = row.source === 'otlp' ? arrangeSpans(stored, { ...key, ...partsOf(row) }) : stored;
  if (lens === 'whole') return records;
  const explained = row.source === 'otlp' ? explainSpan : explain;
  return records.map((record) => (record.body === null ? record : { ...record, body: explained(record.body) }));
}

function partsOf(row: RunListItem): Pick<Parameters<typeof arrangeSpans>[1], 'start' | 'end'> {
  const start = row.started_at && {
    rank: '',
    at: row.started_at.toISOString(),
    agent: row.agent ?? '',
    revision: '',
    question: row.question ?? '',
    userId: row.user_id,
    session: row.session,
    parent: null,
    forkOf: null,
  };
  const end = row.ended_at && {
    rank: '',
    at: row.ended_at.toISOString(),
    stopReason: row.stop_reason ?? '',
    answer: row.answer,
    partial: row.partial ?? false,
    detail: row.detail ?? '',
    totals: null,
  };
  return { start, end };
}
