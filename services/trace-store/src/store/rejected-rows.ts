/** SQL of `traces.rejected`: messages that could not be kept. */
import type { Queryable } from '@pawl/db';
import type { RejectedMessage, RejectReason } from '../record/fact-message.ts';
import { safeText } from '../record/safe-text.ts';
import { columnArrays, unnestColumns, type Column } from './column-arrays.ts';

const columns: readonly Column<RejectedMessage>[] = [
  { name: 'subject', type: 'text', of: (rejected) => safeText(rejected.subject) },
  { name: 'sha256', type: 'text', of: (rejected) => rejected.sha256 },
  { name: 'sequence', type: 'bigint', of: (rejected) => rejected.sequence },
  { name: 'app', type: 'text', of: (rejected) => rejected.app && safeText(rejected.app) },
  { name: 'run_id', type: 'text', of: (rejected) => rejected.runId && safeText(rejected.runId) },
  { name: 'slot', type: 'text', of: (rejected) => rejected.slot && safeText(rejected.slot) },
  { name: 'reason', type: 'text', of: (rejected) => rejected.reason },
  { name: 'size', type: 'bigint', of: (rejected) => rejected.size },
];
const names = columns.map(({ name }) => name).join(', ');

/** Notes messages that are set aside; a message that is noted already is left alone. */
export async function insertRejected(client: Queryable, rejected: readonly RejectedMessage[]): Promise<void> {
  const inOrder = rejected.toSorted((left, right) => compare(orderOf(left), orderOf(right)));
  await client.query(
    `insert into traces.rejected (${names})
     select ${names} from ${unnestColumns(columns)}
     on conflict (subject, sha256) do nothing`,
    columnArrays(columns, inOrder),
  );
}

export type UnreadableSlot = { slot: string; reason: string; sizeBytes: number };

/** The slots of a run whose message was set aside and that no record fills. */
export async function readUnreadable(
  client: Queryable,
  run: { app: string; runId: string },
): Promise<UnreadableSlot[]> {
  const rows = await client.query<{ slot: string; reason: string; size: string }>(
    `select slot, min(reason) as reason, max(size) as size from traces.rejected
     where app = $1 and run_id = $2
       and not exists (select from traces.records
                       where records.app = $1 and records.run_id = $2 and records.slot = rejected.slot)
     group by slot order by slot limit 1000`,
    [run.app, run.runId],
  );
  return rows.map(({ slot, reason, size }) => ({ slot, reason, sizeBytes: Number(size) }));
}

const noneSetAside: Readonly<Record<RejectReason, number>> = {
  unknown_subject: 0,
  invalid_utf8: 0,
  invalid_json: 0,
  too_deep: 0,
  not_a_fact: 0,
  wrong_address: 0,
  redaction_failed: 0,
  claim_missing: 0,
  refused_by_database: 0,
};

/** How many messages were set aside within the last hour, by each reason that there is. */
export async function countSetAside(client: Queryable): Promise<Record<string, number>> {
  const rows = await client.query<{ reason: string; count: string }>(
    `select reason, count(*) as count from traces.rejected where seen_at > now() - interval '1 hour' group by reason`,
  );
  return { ...noneSetAside, ...Object.fromEntries(rows.map(({ reason, count }) => [reason, Number(count)])) };
}

function orderOf(rejected: RejectedMessage): string {
  return `${rejected.subject} ${rejected.sha256}`;
}

function compare(left: string, right: string): number {
  if (left === right) return 0;
  return left < right ? -1 : 1;
}
