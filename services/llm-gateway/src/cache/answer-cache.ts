/** Answers kept in Postgres for as long as their route says. A cache that does not answer is no reason not to ask a model. */
import type { Queryable } from '@pawl/db';
import type { Log } from '@pawl/service';
import type { Redact } from '../retention/redact.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import { storable } from '../ledger/storable.ts';

export type CachedAnswer = { answer: string; line: LedgerEntry };

export type AnswerCache = {
  find(key: string): Promise<CachedAnswer | undefined>;
  /** What is there already stays. An answer that holds what its app wants taken out is not kept: it would be another one. */
  put(of: CachedAnswer & { key: string; app: string; ttlMs: number }): Promise<void>;
};

/** Expired answers that are removed with each new one. */
const sweptMax = 20;

export function createAnswerCache(database: Queryable, redact: Redact, log: Log): AnswerCache {
  return {
    async find(key) {
      try {
        const [row] = await database.query<CachedAnswer>(
          'select answer, line from gateway.cached_answers where key = $1 and expires_at > now()',
          [key],
        );
        return row;
      } catch (error) {
        log.warn({ err: error }, 'the cache could not be read');
        return undefined;
      }
    },
    async put({ key, app, answer, line, ttlMs }) {
      if (redact(app, answer) !== answer) return;
      try {
        await database.query(
          `with expired as (
             select key from gateway.cached_answers where expires_at < now() limit $6 for update skip locked
           ), swept as (
             delete from gateway.cached_answers using expired where cached_answers.key = expired.key and expired.key <> $1
           )
           insert into gateway.cached_answers (key, app, answer, line, expires_at)
             values ($1, $2, $3, $4, now() + $5 * interval '1 millisecond')
             on conflict (key) do update
               set answer = excluded.answer, line = excluded.line, expires_at = excluded.expires_at
               where cached_answers.expires_at <= now()`,
          [key, app, storable(answer), JSON.stringify(line), ttlMs, sweptMax],
        );
      } catch (error) {
        log.warn({ err: error }, 'an answer could not be cached');
      }
    },
  };
}
