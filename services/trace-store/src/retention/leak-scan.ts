/**
 * Looks through everything that is stored for secrets, and for what the app's rules want out: rows from before a rule, or a
 * pattern that the door does not know. Tells where, never what.
 */
import type { Policy } from './policy.ts';
import type { Database } from '@pawl/db';
import { redactText, type RedactionRules } from '@pawl/redaction';

/** A place with something that should not be there. */
export type Leak = { app: string; runId: string; table: 'runs' | 'records' | 'contents'; key: string };

/** Rows that are read at once. */
const batchRows = 500;

type Row = { app: string; run_id: string; key: string; text: string };

const sources: Record<Leak['table'], string> = {
  runs: `select app, run_id, '' as key, concat_ws(E'\\n', question, answer, detail, pause_answer, pause_detail, agent, session) as text
         from traces.runs`,
  records: `select app, run_id, slot as key, concat_ws(E'\\n', body, tool, call_id) as text from traces.records`,
  contents: `select app, run_id, sha256 as key, text from traces.contents`,
};

/** All leaks, one app or every app. Reads in key order, so it may take long but never holds much. */
export async function* findLeaks(
  database: Database,
  { policy, app }: { policy: Policy; app?: string | undefined },
): AsyncGenerator<Leak> {
  for (const table of ['runs', 'records', 'contents'] as const) {
    for await (const row of rowsOf(database, sources[table], app)) {
      if (!leaks(row.text, policy.rulesOf(row.app))) continue;
      yield { app: row.app, runId: row.run_id, table, key: row.key };
    }
  }
}

async function* rowsOf(database: Database, source: string, app: string | undefined): AsyncGenerator<Row> {
  let after = ['', '', ''];
  for (;;) {
    const rows = await database.query<Row>(
      `select * from (${source}) as source
       where (app, run_id, key) > ($1, $2, $3) and ($4::text is null or app = $4)
       order by app, run_id, key limit ${batchRows}`,
      [...after, app ?? null],
    );
    yield* rows;
    const last = rows.at(-1);
    if (!last || rows.length < batchRows) return;
    after = [last.app, last.run_id, last.key];
  }
}

/** Bodies are JSON of which lines may be parts: both the whole and each line are looked at. */
function leaks(text: string, rules: RedactionRules): boolean {
  return redactText(text, rules) !== text || text.split('\n').some((line) => redactText(line, rules) !== line);
}
