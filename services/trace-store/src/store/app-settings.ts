/** SQL of what an app wants of its traces. */
import type { Database } from '@pawl/db';
import type { Redaction } from '@pawl/redaction';
import { standardClass } from '../retention/period.ts';

export type AppSettings = { class: string; redaction: Redaction; traceUrl: string | null };

/** What an app wants from now on; defaults where it said nothing. */
export async function readSettings(database: Database, app: string): Promise<AppSettings> {
  const [latest] = await database.query<{ class: string }>(
    'select class from traces.app_classes where app = $1 order by since desc limit 1',
    [app],
  );
  const [row] = await database.query<{ redaction: string; trace_url: string | null }>(
    'select redaction, trace_url from traces.app_settings where app = $1',
    [app],
  );
  return {
    class: latest?.class ?? standardClass,
    redaction: row ? (JSON.parse(row.redaction) as Redaction) : {},
    traceUrl: row?.trace_url ?? null,
  };
}

/** Replaces what an app wants. A new class counts for runs born from `since` on. */
export async function writeSettings(
  database: Database,
  settings: AppSettings & { app: string; by: string; since: Date },
): Promise<void> {
  const { app, by, since, redaction, traceUrl } = settings;
  await database.transaction(async (client) => {
    await client.query(
      `insert into traces.app_settings (app, redaction, trace_url, updated_by) values ($1, $2, $3, $4)
       on conflict (app) do update
       set redaction = excluded.redaction, trace_url = excluded.trace_url, updated_by = excluded.updated_by, updated_at = now()`,
      [app, JSON.stringify(redaction), traceUrl, by],
    );
    await client.query(
      `insert into traces.app_classes (app, since, class)
       select $1, $2, $3 where $3 is distinct from coalesce(
         (select class from traces.app_classes where app = $1 order by since desc limit 1), $4)
       on conflict (app, since) do update set class = excluded.class`,
      [app, since, settings.class, standardClass],
    );
  });
}
