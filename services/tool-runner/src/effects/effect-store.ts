/**
 * Claims of effects in Postgres (I10), each with its result (I3). One row per key; a row is done once and stays as it is.
 * Nothing here executes anything, and reads never come here.
 */
import type { Queryable } from '@pawl/db';
import { reportSchema, type Report } from './report.ts';

/** The call that claims an effect. */
export type Claimant = { key: string; app: string; runId: string; m: number; i: number; tool: string; owner: string };

export type Effect =
  | { state: 'done'; isSameCall: boolean; isSameRun: boolean; report: Report }
  /** Claimed, and nobody has told a result: by a call that is under way, or by a process that died. */
  | { state: 'claimed'; isSameCall: boolean };

type EffectRow = { run_id: string; m: number; i: number; state: string; result: string | null };

/** The effect under a key as one of its callers sees it, or undefined when nobody has claimed it. */
export async function findEffect(database: Queryable, claimant: Claimant): Promise<Effect | undefined> {
  const [row] = await database.query<EffectRow>(
    'select run_id, m, i, state, result from tools.effects where key = $1',
    [claimant.key],
  );
  if (!row) return undefined;
  const isSameCall = row.run_id === claimant.runId && row.m === claimant.m && row.i === claimant.i;
  if (row.result === null) return { state: 'claimed', isSameCall };
  return {
    state: 'done',
    isSameCall,
    isSameRun: row.run_id === claimant.runId,
    report: reportSchema.parse(JSON.parse(row.result)),
  };
}

/** Claims an effect; false when somebody else was first. */
export async function claimEffect(database: Queryable, claimant: Claimant): Promise<boolean> {
  const { key, app, runId, m, i, tool, owner } = claimant;
  const rows = await database.query(
    `insert into tools.effects (key, app, run_id, m, i, tool, owner) values ($1, $2, $3, $4, $5, $6, $7)
     on conflict (key) do nothing returning key`,
    [key, app, runId, m, i, tool, owner],
  );
  return rows.length === 1;
}

/** Takes over a claim without a result, before the same call is sent again under the same key. */
export async function takeOverEffect(database: Queryable, { key, owner }: Claimant): Promise<void> {
  await database.query(`update tools.effects set owner = $2, claimed_at = now() where key = $1 and state = 'claimed'`, [
    key,
    owner,
  ]);
}

/** Gives a claim up whose call certainly had no effect, so that the same business may be asked for again. */
export async function releaseEffect(database: Queryable, { key, runId, m, i }: Claimant): Promise<void> {
  await database.query(
    `delete from tools.effects where key = $1 and state = 'claimed' and run_id = $2 and m = $3 and i = $4`,
    [key, runId, m, i],
  );
}

/**
 * Stores the result of an effect and gives the one that stands. Where another one was stored before, that one stands, and
 * this one is kept as late. Safe to repeat.
 */
export async function finishEffect(database: Queryable, claimant: Claimant, report: Report): Promise<Report> {
  const text = JSON.stringify(report);
  const [row] = await database.query<{ result: string }>(
    `update tools.effects set
       state = 'done',
       finished_at = coalesce(finished_at, now()),
       result = coalesce(result, $2),
       late_result = case when result is null or result = $2 then late_result else $2 end
     where key = $1 returning result`,
    [claimant.key, text],
  );
  if (!row) throw new TypeError('an effect was finished that nobody had claimed');
  return reportSchema.parse(JSON.parse(row.result));
}
