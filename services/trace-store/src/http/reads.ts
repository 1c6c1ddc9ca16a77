/** The note of reads: who read what of an app's runs and when, one line for each minute, key and thing. */
import type { Database } from '@pawl/db';

export type Read = { app: string; keyId: string; action: string; runId: string; detail: string };

export type ReadRow = { minute: Date; key_id: string; action: string; run_id: string; detail: string; count: string };

export type Reads = {
  /** Keeps the note; when it resolves, it is committed. */
  note(read: Read): Promise<void>;
  /** Notes of an app, newest first, from before a minute. */
  list(app: string, page: { before: string | undefined; runId: string | undefined; count: number }): Promise<ReadRow[]>;
};

export function createReads(database: Database): Reads {
  return {
    async note({ app, keyId, action, runId, detail }) {
      await database.query(
        `insert into traces.reads (app, minute, key_id, action, run_id, detail)
         values ($1, date_trunc('minute', now()), $2, $3, $4, $5)
         on conflict (app, minute, key_id, action, run_id, detail) do update set count = reads.count + 1`,
        [app, keyId, action, runId, detail.slice(0, 500)],
      );
    },
    list: (app, { before, runId, count }) =>
      database.query<ReadRow>(
        `select minute, key_id, action, run_id, detail, count from traces.reads
         where app = $1 and ($2::timestamptz is null or minute < $2) and ($3::text is null or run_id = $3)
         order by minute desc, key_id, action, run_id, detail limit $4`,
        [app, before ?? null, runId ?? null, count],
      ),
  };
}
