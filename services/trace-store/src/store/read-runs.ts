/** SQL of the list of runs: keyset pages, newest first, always within one app. */
import type { Database } from '@pawl/db';

export type RunListItem = {
  run_id: string;
  app: string;
  agent: string | null;
  revision: string | null;
  status: string;
  stop_reason: string | null;
  question: string | null;
  answer: string | null;
  partial: boolean | null;
  detail: string | null;
  user_id: string | null;
  session: string | null;
  trace_id: string | null;
  steps: string;
  tool_calls: string;
  tokens: string;
  cost_nano_usd: string;
  started_at: Date | null;
  ended_at: Date | null;
  last_at: Date;
  listed_at: Date;
  records: string;
};

export type RunFilter = {
  app: string;
  agent?: string | undefined;
  status?: string | undefined;
  stopReason?: string | undefined;
};

/** A place in the list: the last run of the page before. */
export type ListPlace = { listedAt: string; runId: string };

/** Characters of question and answer in a list; the whole text is in the run itself. */
const excerptChars = 500;

const shownColumns = `run_id, app, agent, revision, status, stop_reason, partial, detail, user_id, session, trace_id, steps,
  tool_calls, tokens, cost_nano_usd, started_at, ended_at, last_at, listed_at, records`;

/** Up to `count` runs after `after`. */
export function listRuns(
  database: Database,
  filter: RunFilter,
  page: { after: ListPlace | undefined; count: number },
): Promise<RunListItem[]> {
  const values: unknown[] = [];
  const bind = (value: unknown) => `$${values.push(value)}`;
  const conditions = [`app = ${bind(filter.app)}`];
  if (filter.agent !== undefined) conditions.push(`agent = ${bind(filter.agent)}`);
  if (filter.status !== undefined) conditions.push(`status = ${bind(filter.status)}`);
  if (filter.stopReason !== undefined) conditions.push(`stop_reason = ${bind(filter.stopReason)}`);
  if (page.after) {
    conditions.push(`(listed_at, run_id) < (${bind(page.after.listedAt)}::timestamptz, ${bind(page.after.runId)})`);
  }
  return database.query<RunListItem>(
    `select ${shownColumns}, left(question, ${excerptChars}) as question, left(answer, ${excerptChars}) as answer
     from traces.runs where ${conditions.join(' and ')}
     order by listed_at desc, run_id desc limit ${bind(page.count)}`,
    values,
  );
}

/** One run with its whole question and answer, or undefined when the app has no such run. */
export async function findRun(
  database: Database,
  run: { app: string; runId: string },
): Promise<RunListItem | undefined> {
  const rows = await database.query<RunListItem>(
    `select ${shownColumns}, question, answer from traces.runs where app = $1 and run_id = $2`,
    [run.app, run.runId],
  );
  return rows[0];
}
