/**
 * SQL of the tables of figures: counting hours into them, and counting again what has changed.
 *
 * 1. The notes of an hour go before it is counted, and each statement sees what was committed before it: who writes meanwhile
 *    leaves a note that stays.
 * 2. Times are those of the database, as in the notes, whatever the clock of this process says.
 */
import type { Database, Queryable } from '@pawl/db';
import { selectCalls, selectRuns } from './count-figures.ts';

/** How far back hours are counted: as far as figures can be asked for. */
const daysBack = 400;
const outdatedAtOnce = 20;

type Range = { app: string; counted_from: Date; counted_to: Date };

/** Counts outdated hours again. Gives how many; call again while there are more. */
export async function recountOutdated(database: Database): Promise<number> {
  const recounted = await alone(database, async (client) => {
    // Of hours that are not counted yet, nothing is outdated.
    await client.query(
      `delete from traces.figures_outdated as outdated where not exists (
         select from traces.figure_ranges as ranges
         where ranges.app = outdated.app and outdated.hour >= counted_from and outdated.hour < counted_to)`,
    );
    const hours = await client.query<{ app: string; hour: Date }>(
      `select distinct app, hour from traces.figures_outdated order by hour desc, app limit ${outdatedAtOnce}`,
    );
    for (const { app, hour } of hours) {
      await client.query('delete from traces.figures_outdated where app = $1 and hour = $2', [app, hour]);
      await countHours(client, { app, fromMs: hour.getTime(), hours: 1 });
    }
    return hours.length;
  });
  return recounted ?? 0;
}

/** Apps that have runs. */
export async function listApps(database: Database): Promise<string[]> {
  const rows = await database.query<{ app: string }>(
    `with recursive apps as (
       select min(app) as app from traces.runs
       union all
       select (select min(runs.app) from traces.runs where runs.app > apps.app) from apps where apps.app is not null)
     select app from apps where app is not null`,
  );
  return rows.map(({ app }) => app);
}

/** Counts some more hours of an app, `hoursMax` at the most: first up to now, then backwards. Gives whether there are more. */
export async function countMore(
  database: Database,
  { app, hoursMax }: { app: string; hoursMax: number },
): Promise<boolean> {
  const isMore = await alone(database, async (client) => {
    const [range] = await client.query<Range & { newest: Date; oldest: Date }>(
      `with bounds as (select date_trunc('hour', now() - interval '3 hours', 'UTC') as newest),
            made as (insert into traces.figure_ranges (app, counted_from, counted_to) select $1, newest, newest from bounds
                     on conflict (app) do nothing returning *)
       select ranges.*, newest, newest - interval '${daysBack} days' as oldest
       from bounds, (select * from made union all select * from traces.figure_ranges where app = $1) as ranges`,
      [app],
    );
    if (!range) return false;
    const [fromMs, toMs] = [range.counted_from.getTime(), range.counted_to.getTime()];
    const behind = (range.newest.getTime() - toMs) / hourMs;
    if (behind > 0) {
      const hours = Math.min(behind, hoursMax);
      await countHours(client, { app, fromMs: toMs, hours });
      await setRange(client, { app, fromMs, toMs: toMs + hours * hourMs });
      return true;
    }
    const left = (fromMs - range.oldest.getTime()) / hourMs;
    if (left <= 0) {
      await forgetBefore(client, app, range.oldest);
      await setRange(client, { app, fromMs: range.oldest.getTime(), toMs });
      return false;
    }
    const [earlier] = await client.query<{ at: Date | null }>(
      'select max(listed_at) as at from traces.runs where app = $1 and listed_at < $2',
      [app, range.counted_from],
    );
    const isNoneLeft = !earlier?.at || earlier.at < range.oldest;
    // What lies between has no runs, and is counted so.
    const hourOf = (at: Date) => Math.floor(at.getTime() / hourMs) * hourMs;
    const endMs = isNoneLeft ? range.oldest.getTime() : hourOf(earlier.at ?? range.oldest) + hourMs;
    const hours = isNoneLeft ? 0 : Math.min(hoursMax, left);
    const beginMs = Math.max(endMs - hours * hourMs, range.oldest.getTime());
    if (hours > 0) await countHours(client, { app, fromMs: beginMs, hours: (endMs - beginMs) / hourMs });
    await setRange(client, { app, fromMs: beginMs, toMs });
    return !isNoneLeft;
  });
  return isMore ?? false;
}

const hourMs = 3_600_000;

/** One process at a time; another finds the lock taken and leaves it to that one. */
async function alone<T>(database: Database, body: (client: Queryable) => Promise<T>): Promise<T | undefined> {
  return await database.transaction(async (client) => {
    const [lock] = await client.query<{ taken: boolean }>(
      `select pg_try_advisory_xact_lock(hashtextextended('pawl traces figures', 0)) as taken`,
    );
    if (!lock?.taken) return undefined;
    // Runs and their records lie in weeks that belong together: few of both are looked at.
    await client.query(`select set_config('enable_partitionwise_join', 'on', true)`);
    return await body(client);
  });
}

async function setRange(client: Queryable, range: { app: string; fromMs: number; toMs: number }): Promise<void> {
  await client.query('update traces.figure_ranges set counted_from = $2, counted_to = $3 where app = $1', [
    range.app,
    new Date(range.fromMs),
    new Date(range.toMs),
  ]);
}

async function forgetBefore(client: Queryable, app: string, oldest: Date): Promise<void> {
  for (const table of ['run_figures', 'tool_figures']) {
    await client.query(`delete from traces.${table} where app = $1 and is_total in (true, false) and hour < $2`, [
      app,
      oldest,
    ]);
  }
}

/** Counts whole hours in the place of what was counted of them. */
async function countHours(client: Queryable, wanted: { app: string; fromMs: number; hours: number }): Promise<void> {
  const [from, to] = [wanted.fromMs, wanted.fromMs + wanted.hours * hourMs].map((ms) => new Date(ms).toISOString());
  if (from === undefined || to === undefined) return;
  for (const table of ['run_figures', 'tool_figures']) {
    await client.query(
      `delete from traces.${table} where app = $1 and is_total in (true, false) and hour >= $2 and hour < $3`,
      [wanted.app, from, to],
    );
  }
  const values: unknown[] = [wanted.app];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const counted = { app: wanted.app, from, to };
  await client.query(
    `insert into traces.run_figures (app, hour, is_total, agent, source, stop_reason, duration_class, runs, ended, tokens,
                                     cost_nano_usd, duration_us)
     select $1, hour, grouping(agent) = 1, agent, source, stop_reason, duration_class, sum(runs), sum(ended), sum(tokens),
            sum(cost_nano_usd), sum(duration_us)
     from (${selectRuns(counted, bind)}) as runs
     group by grouping sets ((hour, stop_reason, duration_class), (hour, stop_reason, duration_class, agent, source))`,
    values,
  );
  values.length = 1;
  await client.query(
    `insert into traces.tool_figures (app, hour, is_total, agent, source, tool, called_hour, duration_class, calls, failures,
                                      denied, duration_us)
     select $1, hour, grouping(agent) = 1, agent, source, tool, called_hour, duration_class, sum(calls), sum(failures),
            sum(denied), sum(duration_us)
     from (${selectCalls(counted, bind)}) as calls
     group by grouping sets ((hour, tool, called_hour, duration_class),
                             (hour, tool, called_hour, duration_class, agent, source))`,
    values,
  );
}

export type KnownFigures = { counted: { fromMs: number; toMs: number } | undefined; outdatedMs: number[] };

/** Which hours of an app are counted, and which of them, within a range, are outdated. */
export async function readKnown(
  database: Database,
  { app, from, to }: { app: string; from: string; to: string },
): Promise<KnownFigures> {
  const rows = await database.query<Range & { hour: Date | null }>(
    `select ranges.*, outdated.hour from traces.figure_ranges as ranges
     left join (select distinct hour from traces.figures_outdated where app = $1 and hour >= $2 and hour < $3) as outdated
       on true
     where ranges.app = $1`,
    [app, from, to],
  );
  const [range] = rows;
  return {
    counted: range && { fromMs: range.counted_from.getTime(), toMs: range.counted_to.getTime() },
    outdatedMs: rows.flatMap(({ hour }) => (hour ? [hour.getTime()] : [])),
  };
}
