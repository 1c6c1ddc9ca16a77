/**
 * SQL that counts the spans of other agents' runs. What a span adds follows from the spans around it (`repeatsIn`), which
 * may come before or after it: so the run is counted anew, under its lock, whenever spans are added. Which spans repeat
 * others is noted at their records, for whoever counts those. A run is over once its root has come, or what its processes were
 * entered by: an agent inside of another that goes on ends nothing.
 */
import type { Queryable } from '@pawl/db';
import { repeatsIn, type SpanPlace } from '../otlp/repeats.ts';
import { entryPurpose } from '../otlp/span-entry.ts';
import type { RollUp } from '../record/roll-up.ts';
import { columnArrays, unnestColumns, type Column } from './column-arrays.ts';
import type { RunKey, RunRollUp } from './run-columns.ts';
import { runKeyOf } from './run-rows.ts';

const keyColumns: readonly Column<RunKey>[] = [
  { name: 'app', type: 'text', of: ({ app }) => app },
  { name: 'run_id', type: 'text', of: ({ runId }) => runId },
];

type SpanRow = {
  app: string;
  run_id: string;
  slot: string;
  purpose: string | null;
  is_repeat: boolean;
  kind: SpanPlace['kind'];
  span_id: string | null;
  parent_span_id: string | null;
  tool: string | null;
  status: string | null;
  input_tokens: string | null;
  output_tokens: string | null;
  cost_nano_usd: string | null;
};

/** The same runs, those of other agents with what all of their stored spans add up to. */
export async function countSpans(client: Queryable, table: string, runs: readonly RunRollUp[]): Promise<RunRollUp[]> {
  const keys = runs.filter(({ rollUp }) => rollUp.source === 'otlp').map(({ key }) => key);
  if (keys.length === 0) return [...runs];
  const rows = await client.query<SpanRow>(
    `select app, run_id, slot, kind, purpose, span_id, parent_span_id, tool, status, input_tokens, output_tokens,
            cost_nano_usd, is_repeat
     from ${table} where (app, run_id) in (select app, run_id from ${unnestColumns(keyColumns)})`,
    columnArrays(keyColumns, keys),
  );
  const byRun = Map.groupBy(rows, (row) => runKeyOf({ app: row.app, runId: row.run_id }));
  const changed: SpanRow[] = [];
  const counted = runs.map(({ key, rollUp }): RunRollUp => {
    const spans = rollUp.source === 'otlp' ? byRun.get(runKeyOf(key)) : undefined;
    if (!spans) return { key, rollUp };
    const repeats = repeatsIn(spans.map(placeOf));
    const isRepeat = (row: SpanRow) => row.span_id !== null && repeats.has(row.span_id);
    changed.push(...spans.filter((row) => row.is_repeat !== isRepeat(row)));
    return { key, rollUp: { ...rollUp, ...sumsOf(spans.filter((row) => !isRepeat(row))) }, isOpen: isOpen(spans) };
  });
  await turnRepeats(client, table, changed);
  return counted;
}

/**
 * Whether something is still to come: there is no root, and either no span that enters a process, or one inside of a process
 * whose parent, which is of the same process, has not come.
 */
function isOpen(spans: readonly SpanRow[]): boolean {
  if (spans.some((row) => row.parent_span_id === null)) return false;
  const known = new Set(spans.map((row) => row.span_id));
  const isEntry = (row: SpanRow) => row.purpose === entryPurpose;
  return !spans.some(isEntry) || spans.some((row) => !isEntry(row) && !known.has(row.parent_span_id));
}

const slotColumns: readonly Column<SpanRow>[] = [
  { name: 'app', type: 'text', of: ({ app }) => app },
  { name: 'run_id', type: 'text', of: ({ run_id }) => run_id },
  { name: 'slot', type: 'text', of: ({ slot }) => slot },
];

/** Notes of records that they repeat others now, or do so no more. */
async function turnRepeats(client: Queryable, table: string, rows: readonly SpanRow[]): Promise<void> {
  if (rows.length === 0) return;
  await client.query(
    `update ${table} set is_repeat = not is_repeat
     where (app, run_id, slot) in (select app, run_id, slot from ${unnestColumns(slotColumns)})`,
    columnArrays(slotColumns, rows),
  );
}

function sumsOf(counted: readonly SpanRow[]): Pick<RollUp, 'steps' | 'toolCalls' | 'tokens' | 'costNanoUsd'> {
  return {
    steps: counted.filter(({ kind, status }) => kind === 'thought' && status === 'reply').length,
    toolCalls: counted.filter(({ kind }) => kind === 'observed').length,
    tokens: counted.reduce((sum, row) => sum + Number(row.input_tokens ?? 0) + Number(row.output_tokens ?? 0), 0),
    costNanoUsd: counted.reduce((sum, row) => sum + BigInt(row.cost_nano_usd ?? 0), 0n),
  };
}

function placeOf(row: SpanRow): SpanPlace {
  return {
    kind: row.kind,
    tool: row.tool,
    spanId: row.span_id,
    parentSpanId: row.parent_span_id,
    inputTokens: row.input_tokens === null ? null : Number(row.input_tokens),
    outputTokens: row.output_tokens === null ? null : Number(row.output_tokens),
  };
}
