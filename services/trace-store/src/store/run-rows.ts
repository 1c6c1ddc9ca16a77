/** SQL of `traces.runs`: locking roll-ups in one order, and writing them. Both work on the table of one place. */
import type { Queryable } from '@pawl/db';
import type { RollUp } from '../record/roll-up.ts';
import { columnArrays, unnestColumns, type Column } from './column-arrays.ts';
import { rollUpOf, stateColumns, type RunKey, type RunRollUp, type RunRow } from './run-columns.ts';

const keyColumns: readonly Column<RunKey>[] = [
  { name: 'app', type: 'text', of: ({ app }) => app },
  { name: 'run_id', type: 'text', of: ({ runId }) => runId },
];

const allColumns: readonly Column<RunRollUp>[] = [
  { name: 'app', type: 'text', of: ({ key }) => key.app },
  { name: 'run_id', type: 'text', of: ({ key }) => key.runId },
  ...stateColumns,
];

/** The table of a place, and the class of its rows. */
export type RunTable = { name: string; class: string };

/**
 * Locks the rows of the runs until the transaction ends, making those that are missing, and gives the roll-ups by
 * `runKeyOf`. `keys` must be sorted (`sortedKeys`): every writer locks in the same order, so none can block another for ever.
 */
export async function lockRuns(
  client: Queryable,
  table: RunTable,
  keys: readonly RunKey[],
): Promise<Map<string, RollUp>> {
  const values = columnArrays(keyColumns, keys);
  await client.query(
    `insert into ${table.name} (class, app, run_id, status, first_at, last_at, records,
                                counted_steps, counted_tool_calls, counted_tokens, counted_cost_nano_usd)
     select $3, app, run_id, 'running', 'epoch', 'epoch', 0, 0, 0, 0, 0 from ${unnestColumns(keyColumns)}
     on conflict (class, app, run_id) do nothing`,
    [...values, table.class],
  );
  const rows = await client.query<RunRow>(
    `select * from ${table.name} where class = $3 and (app, run_id) in (select app, run_id from ${unnestColumns(keyColumns)})
     order by app collate "C", run_id for update`,
    [...values, table.class],
  );
  const known = rows.filter((row) => row.records !== '0');
  return new Map(known.map((row) => [runKeyOf({ app: row.app, runId: row.run_id }), rollUpOf(row)]));
}

/** Writes roll-ups over the rows that `lockRuns` locked. */
export async function updateRuns(client: Queryable, table: RunTable, runs: readonly RunRollUp[]): Promise<void> {
  const assignments = stateColumns.map(({ name }) => `${name} = rows.${name}`).join(', ');
  await client.query(
    `update ${table.name} as runs set ${assignments} from ${unnestColumns(allColumns)}
     where runs.class = $${allColumns.length + 1} and runs.app = rows.app and runs.run_id = rows.run_id`,
    [...columnArrays(allColumns, runs), table.class],
  );
}

/** Deletes the rows of runs that `lockRuns` made and nobody wants. */
export async function removeRuns(client: Queryable, table: RunTable, keys: readonly RunKey[]): Promise<void> {
  if (keys.length === 0) return;
  await client.query(
    `delete from ${table.name} where class = $3
     and (app, run_id) in (select app, run_id from ${unnestColumns(keyColumns)})`,
    [...columnArrays(keyColumns, keys), table.class],
  );
}

/** A run's key as one text; its parts can't hold a slash. */
export function runKeyOf({ app, runId }: RunKey): string {
  return `${app}/${runId}`;
}

/** Distinct keys in the order in which runs are locked: by bytes of app, then of run id. */
export function sortedKeys(keys: Iterable<RunKey>): RunKey[] {
  const distinct = new Map<string, RunKey>();
  for (const { app, runId } of keys) distinct.set(runKeyOf({ app, runId }), { app, runId });
  return [...distinct.values()].toSorted(
    (left, right) => compareText(left.app, right.app) || compareText(left.runId, right.runId),
  );
}

function compareText(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
