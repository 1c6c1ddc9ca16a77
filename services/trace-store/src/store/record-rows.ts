/** SQL of `traces.records` and `traces.contents`: adding rows once, and reading those of one run. */
import type { Queryable } from '@pawl/db';
import { keepBody, type KeptBody } from '../record/content.ts';
import type { TraceRecord } from '../record/record.ts';
import type { Mark } from '../record/safe-text.ts';
import { columnArrays, unnestColumns, type Column } from './column-arrays.ts';

type Row = { record: TraceRecord; kept: KeptBody };

const columns: readonly Column<Row>[] = [
  { name: 'app', type: 'text', of: ({ record }) => record.app },
  { name: 'run_id', type: 'text', of: ({ record }) => record.runId },
  { name: 'slot', type: 'text', of: ({ record }) => record.slot },
  { name: 'sequence', type: 'bigint', of: ({ record }) => record.sequence },
  { name: 'kind', type: 'text', of: ({ record }) => record.kind },
  { name: 'm', type: 'bigint', of: ({ record }) => record.m },
  { name: 'i', type: 'bigint', of: ({ record }) => record.i },
  { name: 'step', type: 'bigint', of: ({ record }) => record.step },
  { name: 'purpose', type: 'text', of: ({ record }) => record.purpose },
  { name: 'call_id', type: 'text', of: ({ record }) => record.callId },
  { name: 'tool', type: 'text', of: ({ record }) => record.tool },
  { name: 'status', type: 'text', of: ({ record }) => record.status },
  { name: 'calls', type: 'bigint', of: ({ record }) => record.calls },
  { name: 'input_tokens', type: 'bigint', of: ({ record }) => record.inputTokens },
  { name: 'output_tokens', type: 'bigint', of: ({ record }) => record.outputTokens },
  { name: 'cost_nano_usd', type: 'numeric', of: ({ record }) => record.costNanoUsd },
  { name: 'sub_tokens', type: 'bigint', of: ({ record }) => record.subTokens },
  { name: 'sub_cost_nano_usd', type: 'numeric', of: ({ record }) => record.subCostNanoUsd },
  { name: 'seeded_turns', type: 'bigint', of: ({ record }) => record.seededTurns },
  { name: 'seeded_steps', type: 'bigint', of: ({ record }) => record.seededSteps },
  { name: 'model', type: 'text', of: ({ record }) => record.model },
  { name: 'at', type: 'timestamptz', of: ({ record }) => record.at },
  { name: 'started_at', type: 'timestamptz', of: ({ record }) => record.startedAt },
  { name: 'duration_ms', type: 'float8', of: ({ record }) => record.durationMs },
  { name: 'trace_id', type: 'text', of: ({ record }) => record.traceId },
  { name: 'span_id', type: 'text', of: ({ record }) => record.spanId },
  { name: 'parent_span_id', type: 'text', of: ({ record }) => record.parentSpanId },
  { name: 'marks', type: 'text', of: ({ record }) => record.marks.join(',') },
  { name: 'body', type: 'text', of: ({ kept }) => kept.body },
  {
    name: 'parts',
    type: 'text',
    of: ({ kept }) => (kept.body === null ? kept.contents.map(({ sha256 }) => sha256).join(',') : null),
  },
  { name: 'body_bytes', type: 'bigint', of: ({ kept }) => kept.bytes },
];
const names = columns.map(({ name }) => name).join(', ');

type ContentRow = { app: string; runId: string; sha256: string; text: string };

const contentColumns: readonly Column<ContentRow>[] = [
  { name: 'app', type: 'text', of: ({ app }) => app },
  { name: 'run_id', type: 'text', of: ({ runId }) => runId },
  { name: 'sha256', type: 'text', of: (content) => content.sha256 },
  { name: 'text', type: 'text', of: ({ text }) => text },
];

/** The tables of a place, and the class of their rows. */
export type RecordTables = { records: string; contents: string; class: string };

/** Adds the records whose slots are not there yet, and gives exactly those that it added. The slots must be distinct. */
export async function insertRecords(
  client: Queryable,
  tables: RecordTables,
  records: readonly TraceRecord[],
): Promise<TraceRecord[]> {
  const rows = records.map((record) => ({ record, kept: keepBody(record.pieces ?? [record.body]) }));
  const added = await client.query<{ app: string; run_id: string; slot: string }>(
    `insert into ${tables.records} (class, ${names})
     select $${columns.length + 1}, ${names} from ${unnestColumns(columns)}
     on conflict (class, app, run_id, slot) do nothing
     returning app, run_id, slot`,
    [...columnArrays(columns, rows), tables.class],
  );
  const keys = new Set(added.map(({ app, run_id, slot }) => keyOf({ app, runId: run_id, slot })));
  const addedRows = rows.filter(({ record }) => keys.has(keyOf(record)));
  await insertContents(client, tables, addedRows);
  return addedRows.map(({ record }) => record);
}

async function insertContents(client: Queryable, tables: RecordTables, rows: readonly Row[]): Promise<void> {
  const contents = rows.flatMap(({ record: { app, runId }, kept }) =>
    kept.contents.map((content) => ({ app, runId, ...content })),
  );
  if (contents.length === 0) return;
  await client.query(
    `insert into ${tables.contents} (class, app, run_id, sha256, text)
     select $${contentColumns.length + 1}, app, run_id, sha256, text from ${unnestColumns(contentColumns)}
     on conflict (class, app, run_id, sha256) do nothing`,
    [...columnArrays(contentColumns, contents), tables.class],
  );
}

/** The key of a record as one text; its parts can't hold a slash. */
export function keyOf(record: Pick<TraceRecord, 'app' | 'runId' | 'slot'>): string {
  return `${record.app}/${record.runId}/${record.slot}`;
}

/** A stored record; `body` is null where it is larger than what was asked for. */
export type StoredRecord = Omit<TraceRecord, 'body' | 'pieces'> & { body: string | null };

type RecordRow = {
  slot: string;
  sequence: string;
  kind: TraceRecord['kind'];
  m: string | null;
  i: string | null;
  step: string | null;
  purpose: string | null;
  call_id: string | null;
  tool: string | null;
  status: string | null;
  calls: string | null;
  input_tokens: string | null;
  output_tokens: string | null;
  cost_nano_usd: string | null;
  sub_tokens: string | null;
  sub_cost_nano_usd: string | null;
  seeded_turns: string | null;
  seeded_steps: string | null;
  model: string | null;
  at: Date;
  started_at: Date;
  duration_ms: number;
  trace_id: string | null;
  span_id: string | null;
  parent_span_id: string | null;
  marks: string;
  body: string | null;
};

export type BodyLimits = {
  /** Bodies above this many bytes are left out. */
  bodyBytesMax: number;
  /** Once this many bytes are reached, in the order of the log, the rest is left out. */
  totalBytesMax: number;
};

/** Which records of a run. Absent: all. */
export type RecordRange = {
  /** Only those that were stored after this time. */
  storedAfter?: Date | undefined;
  /** Slots that are left out. */
  without?: readonly string[];
};

/** The records of a run, in no particular order. */
export async function readRecords(
  client: Queryable,
  run: { app: string; runId: string } & RecordRange,
  limits: BodyLimits,
): Promise<StoredRecord[]> {
  const rows = await client.query<RecordRow>(
    `select slot, sequence, kind, m, i, step, purpose, call_id, tool, status, calls, input_tokens, output_tokens,
            cost_nano_usd, sub_tokens, sub_cost_nano_usd, seeded_turns, seeded_steps, model, at, started_at, duration_ms,
            trace_id, span_id, parent_span_id, marks, case when is_shown then ${bodyOf('shown')} end as body
     from (select *, body_bytes <= $3
                  and sum(case when body_bytes <= $3 then body_bytes end) over (order by sequence, slot) <= $4 as is_shown
           from traces.records
           where app = $1 and run_id = $2 and ($5::timestamptz is null or stored_at > $5) and slot <> all ($6)) as shown`,
    [run.app, run.runId, limits.bodyBytesMax, limits.totalBytesMax, run.storedAfter ?? null, run.without ?? []],
  );
  return rows.map((row) => storedRecord(run, row));
}

/** SQL of a record's whole body. */
function bodyOf(record: string): string {
  return `coalesce(${record}.body, (
    select string_agg(contents.text, '' order by part.place)
    from unnest(string_to_array(${record}.parts, ',')) with ordinality as part (sha256, place)
    join traces.contents on contents.class = ${record}.class and contents.app = ${record}.app
                        and contents.run_id = ${record}.run_id and contents.sha256 = part.sha256))`;
}

/** The body of one record, or undefined when there is none. */
export async function readBody(
  client: Queryable,
  key: { app: string; runId: string; slot: string },
): Promise<string | undefined> {
  const rows = await client.query<{ body: string }>(
    `select ${bodyOf('records')} as body from traces.records where app = $1 and run_id = $2 and slot = $3`,
    [key.app, key.runId, key.slot],
  );
  return rows[0]?.body;
}

function storedRecord(run: { app: string; runId: string }, row: RecordRow): StoredRecord {
  return {
    app: run.app,
    runId: run.runId,
    slot: row.slot,
    sequence: Number(row.sequence),
    kind: row.kind,
    m: numberOf(row.m),
    i: numberOf(row.i),
    step: numberOf(row.step),
    purpose: row.purpose,
    callId: row.call_id,
    tool: row.tool,
    status: row.status,
    calls: numberOf(row.calls),
    inputTokens: numberOf(row.input_tokens),
    outputTokens: numberOf(row.output_tokens),
    costNanoUsd: row.cost_nano_usd,
    subTokens: numberOf(row.sub_tokens),
    subCostNanoUsd: row.sub_cost_nano_usd,
    seededTurns: numberOf(row.seeded_turns),
    seededSteps: numberOf(row.seeded_steps),
    model: row.model,
    at: row.at.toISOString(),
    startedAt: row.started_at.toISOString(),
    durationMs: row.duration_ms,
    traceId: row.trace_id,
    spanId: row.span_id,
    parentSpanId: row.parent_span_id,
    marks: row.marks === '' ? [] : (row.marks.split(',') as Mark[]),
    body: row.body,
  };
}

function numberOf(text: string | null): number | null {
  return text === null ? null : Number(text);
}
