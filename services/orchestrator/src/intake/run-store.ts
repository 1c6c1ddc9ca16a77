/** SQL over `runs.runs`: accepted runs and how they stand. */
import type { Database, Queryable } from '@pawl/db';
import { startedSchema, type RunView, type Started } from '@pawl/contracts';

export type StoredRun = {
  started: Started;
  /** The run as it stopped, or undefined while it is under way. */
  view: RunView | undefined;
  createdAt: string;
};

export type AcceptedRun = { outcome: 'accepted' } | { outcome: 'repeated'; run: StoredRun; requestHash: string };

export type RunStore = {
  /** Commits a run, unless the app's idempotency key belongs to a run already. */
  accept(run: { started: Started; idempotencyKey: string | undefined; requestHash: string }): Promise<AcceptedRun>;
  find(app: string, id: string): Promise<StoredRun | undefined>;
  /** Notes how a run stands once it has paused or ended. Repeating changes nothing; what has ended stays so. */
  recordStopped(view: RunView): Promise<void>;
  /** Which wait of a run its app's webhook has taken last. */
  toldWaiting(id: string): Promise<string | undefined>;
  noteToldWaiting(id: string, wait: string): Promise<void>;
  /** Open runs that were accepted some time ago, oldest first, those behind the last one of an earlier answer. */
  openRuns(of: { ageMs: number; after: StoredRun | undefined; limit: number }): Promise<StoredRun[]>;
  /** Runs of a session, oldest first, the last few; those that are under way included. */
  sessionRuns(of: { app: string; session: string; userId: string | undefined; limit: number }): Promise<StoredRun[]>;
  /** An app's runs, newest first, behind the cursor. */
  list(of: ListOptions): Promise<StoredRun[]>;
};

export type ListOptions = {
  app: string;
  agent: string | undefined;
  status: 'open' | 'paused' | 'ended' | undefined;
  cursor: { createdAt: string; id: string } | undefined;
  limit: number;
};

type Row = { started: string; view: string | null; request_hash: string; created_at: string };

/** The time as text, so that a cursor keeps its microseconds. */
const columns = `started, view, request_hash, to_char(created_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as created_at`;

export function createRunStore(database: Database): RunStore {
  return {
    accept: (run) => accept(database, run),
    async find(app, id) {
      const rows = await database.query<Row>(`select ${columns} from runs.runs where id = $1 and app = $2`, [id, app]);
      return rows[0] && storedRun(rows[0]);
    },
    async recordStopped(view) {
      const status = view.status === 'ended' ? 'ended' : 'paused';
      await database.query(
        `update runs.runs set status = $2, stopped_at = coalesce($3, now()), view = $4 where id = $1 and status <> 'ended'`,
        [view.id, status, view.endedAt, JSON.stringify(view)],
      );
    },
    async toldWaiting(id) {
      const rows = await database.query<{ told: string | null }>(
        'select told_waiting as told from runs.runs where id = $1',
        [id],
      );
      return rows[0]?.told ?? undefined;
    },
    async noteToldWaiting(id, wait) {
      await database.query('update runs.runs set told_waiting = $2 where id = $1', [id, wait]);
    },
    async openRuns(of) {
      const rows = await database.query<Row>(
        `select ${columns} from runs.runs
         where status = 'open' and runs.runs.created_at < now() - make_interval(secs => $1)
           and ($2::timestamptz is null or (runs.runs.created_at, id) > ($2, $3))
         order by runs.runs.created_at, id limit $4`,
        [of.ageMs / 1_000, of.after?.createdAt ?? null, of.after?.started.runId ?? null, of.limit],
      );
      return rows.map(storedRun);
    },
    async sessionRuns(of) {
      const rows = await database.query<Row>(
        `select ${columns} from runs.runs
         where app = $1 and session = $2 and user_id is not distinct from $3
         order by runs.runs.created_at desc limit $4`,
        [of.app, of.session, of.userId ?? null, of.limit],
      );
      return rows.map(storedRun).toReversed();
    },
    list: (of) => list(database, of),
  };
}

async function accept(database: Queryable, run: Parameters<RunStore['accept']>[0]): Promise<AcceptedRun> {
  const { started, idempotencyKey, requestHash } = run;
  const inserted = await database.query(
    `insert into runs.runs (id, app, agent, user_id, session, idempotency_key, request_hash, started)
     values ($1, $2, $3, $4, $5, $6, $7, $8)
     on conflict do nothing returning id`,
    [
      started.runId,
      started.app,
      started.agent.name,
      started.user?.id ?? null,
      started.session ?? null,
      idempotencyKey ?? null,
      requestHash,
      JSON.stringify(started),
    ],
  );
  if (inserted.length > 0) return { outcome: 'accepted' };
  const rows = await database.query<Row>(
    `select ${columns} from runs.runs where app = $1 and (id = $2 or idempotency_key = $3)`,
    [started.app, started.runId, idempotencyKey ?? null],
  );
  const row = rows[0];
  if (!row) throw new TypeError('a conflicting run is not there');
  return { outcome: 'repeated', run: storedRun(row), requestHash: row.request_hash };
}

async function list(database: Queryable, of: ListOptions): Promise<StoredRun[]> {
  const rows = await database.query<Row>(
    `select ${columns} from runs.runs
     where app = $1
       and ($2::text is null or agent = $2)
       and ($3::text is null or status = $3)
       and ($4::timestamptz is null or (runs.runs.created_at, id) < ($4, $5))
     order by runs.runs.created_at desc, id desc limit $6`,
    [of.app, of.agent ?? null, of.status ?? null, of.cursor?.createdAt ?? null, of.cursor?.id ?? null, of.limit],
  );
  return rows.map(storedRun);
}

function storedRun(row: Row): StoredRun {
  return {
    started: startedSchema.parse(JSON.parse(row.started)),
    view: row.view === null ? undefined : (JSON.parse(row.view) as RunView),
    createdAt: row.created_at,
  };
}
