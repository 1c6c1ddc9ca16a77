/**
 * What runs may spend, for calls over HTTP that are made for a run: the calls of the run's own think work say it, the latest
 * counts. A run that has not thought yet, or is another app's, has none here.
 */
import { UnavailableError } from '@pawl/contracts';
import type { Queryable } from '@pawl/db';
import type { Log } from '@pawl/service';
import { z } from 'zod';
import type { SpendingRun } from './levels.ts';

const knownMax = 10_000;
/** What is kept back for the end of a run moves with every step; so often it is told anew. */
const againMs = 5_000;
/** Runs are long over by then. */
const keptDays = 90;
const forgottenAtOnce = 100;

export type RunLimits = {
  /** Remembers what a run and those above it may spend. Beside the call, not in its way. */
  note(run: { app: string; runs: readonly Pick<SpendingRun, 'runId' | 'limitNanoUsd'>[] }): void;
  /** The run and those above it. Throws `UnavailableError` while Postgres is away. */
  find(app: string, runId: string): Promise<SpendingRun[]>;
};

const runsSchema = z.array(z.object({ runId: z.string(), limitNanoUsd: z.string().transform(BigInt) }));

export function createRunLimits(database: Queryable, log: Log): RunLimits {
  const known = new Map<string, { text: string; atMs: number }>();
  return {
    note({ app, runs }) {
      const [own] = runs;
      if (!own) return;
      const text = JSON.stringify(
        runs.map(({ runId, limitNanoUsd }) => ({ runId, limitNanoUsd: String(limitNanoUsd) })),
      );
      const now = performance.now();
      const last = known.get(own.runId);
      if (last && (last.text === text || now - last.atMs < againMs)) return;
      known.delete(own.runId);
      known.set(own.runId, { text, atMs: now });
      const [oldest] = known.keys();
      if (known.size > knownMax && oldest !== undefined) known.delete(oldest);
      write(database, { app, runId: own.runId, text }).catch((error: unknown) => {
        known.delete(own.runId);
        if (!(error instanceof UnavailableError)) log.error({ err: error }, 'the limit of a run could not be kept');
      });
    },
    async find(app, runId) {
      const [row] = await database.query<{ runs: unknown }>(
        'select runs from gateway.run_limits where run_id = $1 and app = $2',
        [runId, app],
      );
      return row ? runsSchema.parse(row.runs) : [];
    },
  };
}

async function write(database: Queryable, of: { app: string; runId: string; text: string }): Promise<void> {
  await database.query(
    `with old as (
       delete from gateway.run_limits where run_id = any(array(
         select run_id from gateway.run_limits where at < now() - $4 * interval '1 day' order by at limit $5))
     )
     insert into gateway.run_limits (run_id, app, runs) values ($1, $2, $3)
       on conflict (run_id) do update set runs = excluded.runs, at = now()`,
    [of.runId, of.app, of.text, keptDays, forgottenAtOnce],
  );
}
