/** Reading lines of the books. */
import type { Queryable } from '@pawl/db';
import type { LedgerEntry } from './entry.ts';

const columns = `call_id, to_char(at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"') as at, app, agent, user_id, run_id, m, purpose,
  provider, model, region, route, attempts, input_tokens, cached_input_tokens, cache_write_tokens, output_tokens,
  reasoning_tokens, cost_nano_usd::text as cost_nano_usd, price, rates, basis, stop_kind, trace_id, coalesce(is_final, true) as is_final,
  for_run_id, held_nano_usd::text as held_nano_usd, corrects, note`;

/** The line with this id. */
export async function findLine(database: Queryable, callId: string): Promise<LedgerEntry | undefined> {
  const [line] = await database.query<LedgerEntry>(`select ${columns} from gateway.ledger where call_id = $1`, [
    callId,
  ]);
  return line;
}

/** Lines of an app, newest first. */
export async function listLines(
  database: Queryable,
  of: { app: string; run?: string | undefined; stopKind?: string | undefined; limit: number },
): Promise<LedgerEntry[]> {
  return await database.query<LedgerEntry>(
    `select ${columns} from gateway.ledger
       where app = $1 and ($2::text is null or coalesce(for_run_id, run_id) = $2) and ($3::text is null or stop_kind = $3)
       order by gateway.ledger.at desc limit $4`,
    [of.app, of.run ?? null, of.stopKind ?? null, of.limit],
  );
}
