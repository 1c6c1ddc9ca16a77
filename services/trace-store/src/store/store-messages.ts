/**
 * Stores a batch so that one message that Postgres refuses never holds up the others: the batch is halved until the
 * culprit stands alone, and then it is set aside.
 */
import { UnavailableError } from '@pawl/contracts';
import { rejectMessage, type FactMessage, type FactReading } from '../record/fact-message.ts';
import type { TraceRecord } from '../record/record.ts';
import type { TraceTables } from './trace-tables.ts';
import { writeBatch } from './write-batch.ts';

export type ReadMessage = { message: FactMessage; reading: FactReading };

/** How often a batch is tried when another writer was in the way. */
const attemptsMax = 3;

/**
 * When it resolves, every message is committed, as a record or as rejected; gives the records that were new.
 * Throws `UnavailableError` while Postgres is away, and what Postgres said when the fault is not in the messages.
 */
export async function storeMessages(tables: TraceTables, messages: readonly ReadMessage[]): Promise<TraceRecord[]> {
  try {
    return await writeWithAttempts(
      tables,
      messages.map(({ reading }) => reading),
    );
  } catch (error) {
    if (!isFaultOfData(error)) throw error;
    const [only] = messages;
    if (messages.length === 1 && only) {
      return await writeBatch(tables, [{ rejected: rejectMessage(only.message, 'refused_by_database') }]);
    }
    const middle = Math.ceil(messages.length / 2);
    const added = await storeMessages(tables, messages.slice(0, middle));
    return [...added, ...(await storeMessages(tables, messages.slice(middle)))];
  }
}

async function writeWithAttempts(tables: TraceTables, readings: readonly FactReading[]): Promise<TraceRecord[]> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await writeBatch(tables, readings);
    } catch (error) {
      if (isTableMissing(error)) tables.partitions.forget();
      else if (!isConflict(error)) throw error;
      if (attempt >= attemptsMax) throw error;
    }
  }
}

/** SQLSTATE 40001 serialization failure, 40P01 deadlock: the same batch may succeed at once. */
function isConflict(error: unknown): boolean {
  return /^40(001|P01)$/.test(sqlStateOf(error));
}

/** SQLSTATE 42P01: a week's table is gone that was known to be there. */
function isTableMissing(error: unknown): boolean {
  return sqlStateOf(error) === '42P01';
}

/** SQLSTATE classes 22 (data), 23 (constraints) and 54 (program limits): trying again can't help. */
function isFaultOfData(error: unknown): boolean {
  return !(error instanceof UnavailableError) && /^(22|23|54)/.test(sqlStateOf(error));
}

function sqlStateOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
