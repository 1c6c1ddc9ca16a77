/** SQL over `runs.runs`: accepted runs, what people asked of them, and how they ended. */
import type { Database } from '@pawl/db';
import { cancelSchema, startedSchema, type Cancel, type RunView, type Started } from '@pawl/contracts';

export type StoredRun = {
  started: Started;
  cancel: Cancel | undefined;
  /** The run as it ended, or undefined while it is open. */
  view: RunView | undefined;
  createdAt: string;
};

export type AcceptedRun =
  | { outcome: 'accepted' }
  | { outcome: 'repeated'; run: StoredRun; requestHash: string };

export type RunPage = { items: StoredRun[]; next: string | null };

export type RunStore = ReturnType<typeof createRunStore>;

type Row = { started: string; cancel: string | null; view: string | null; request_hash: string; created_at: Date };

const columns = 'started, cancel, view, request_hash, created_at';

export function createRunStore(database: Database) {
  const find = async (app: string, id: string): Promise<StoredRun | undefined> => {
    const rows = await database.query<Row>(`select ${columns} from runs.runs where id = $1 and app = $2`, [id, app]);
    return rows[0] && storedRun(rows[0]);
  };
  return {
    /** Commits a run, unless the app's idempotency key belongs to a run already. */
    async accept(run: { started: Started; idempotencyKey: string | undefined; requestHash: string }): Promise<AcceptedRun> {
      const { started } = run;
      const inserted = await database.query(
        `insert into runs.runs (id, app, agent, idempotency_key, request_hash, started)
         values ($1, $2, $3, $4, $5, $6)
         on conflict (app, idempotency_key) where idempotency_key is not null do nothing
         returning id`,
        [started.runId, started.app, started.agent.name, run.idempotencyKey ?? null, run.requestHash, JSON.stringify(started)],
      );
      if (inserted.length > 0) return { outcome: 'accepted' };
      const rows = await database.query<Row>(
        `select ${columns} from runs.runs where app = $1 and idempotency_key = $2`,
        [started.app, run.idempotencyKey],
      );
      const row = rows[0];
      if (!row) throw new TypeError('a conflicting run is not there');
      return { outcome: 'repeated', run: storedRun(row), requestHash: row.request_hash };
    },

    find,

    /** Keeps the first request to cancel an open run; gives the one that is kept, or undefined when the run has ended. */
    async cancel(cancel: Cancel): Promise<Cancel | undefined> {
      const rows = await database.query<{ cancel: string }>(
        `update runs.runs set cancel = coalesce(cancel, $3)
         where id = $1 and app = $2 and ended_at is null
         returning cancel`,
        [cancel.runId, cancel.app, JSON.stringify(cancel)],
      );
      return rows[0] && cancelSchema.parse(JSON.parse(rows[0].cancel));
    },

    /** Notes how a run ended. Repeating changes nothing. */
    async recordEnded(view: RunView): Promise<void> {
      await database.query(
        'update runs.runs set ended_at = $2, view = $3 where id = $1 and ended_at is null',
        [view.id, view.endedAt, JSON.stringify(view)],
      );
    },

    /** Open runs that were accepted before a time, oldest first, after the given one. */
    async openRuns(of: { acceptedBefore: Date; limit: number }): Promise<StoredRun[]> {
      const rows = await database.query<Row>(
        `select ${columns} from runs.runs
         where ended_at is null and created_at < $1 order by created_at limit $2`,
        [of.acceptedBefore, of.limit],
      );
      return rows.map(storedRun);
    },

    /** An app's runs, newest first, in keyset pages. `next` is the cursor of the following page. */
    async list(of: {
      app: string;
      agent: string | undefined;
      isEnded: boolean | undefined;
      cursor: { createdAt: string; id: string } | undefined;
      limit: number;
    }): Promise<StoredRun[]> {
      const rows = await database.query<Row>(
        `select ${columns} from runs.runs
         where app = $1
           and ($2::text is null or agent = $2)
           and ($3::boolean is null or (ended_at is not null) = $3)
           and ($4::timestamptz is null or (created_at, id) < ($4, $5))
         order by created_at desc, id desc limit $6`,
        [of.app, of.agent ?? null, of.isEnded ?? null, of.cursor?.createdAt ?? null, of.cursor?.id ?? null, of.limit],
      );
      return rows.map(storedRun);
    },
  };
}

function storedRun(row: Row): StoredRun {
  return {
    started: startedSchema.parse(JSON.parse(row.started)),
    cancel: row.cancel === null ? undefined : cancelSchema.parse(JSON.parse(row.cancel)),
    view: row.view === null ? undefined : (JSON.parse(row.view) as RunView),
    createdAt: row.created_at.toISOString(),
  };
}
