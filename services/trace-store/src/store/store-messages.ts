/**
 * Stores a batch so that one message or span that Postgres refuses never holds up the others: the batch is halved until the
 * culprit stands alone, and then it is set aside.
 */
import { UnavailableError } from '@pawl/contracts';
import { rejectMessage, type FactMessage, type FactReading } from '../record/fact-message.ts';
import type { TraceRecord } from '../record/record.ts';
import type { TraceTables } from './trace-tables.ts';
import { writeBatch, writeEntries, type Entry } from './write-batch.ts';

export type ReadMessage = { message: FactMessage; reading: FactReading };

/** How often a batch is tried when another writer was in the way. */
const attemptsMax = 3;

/**
 * When it resolves, every message is committed, as a record or as rejected; gives the records that were new.
 * Throws `UnavailableError` while Postgres is away, and what Postgres said when the fault is not in the messages.
 */
export async function storeMessages(tables: TraceTables, messages: readonly ReadMessage[]): Promise<TraceRecord[]> {
  return await storeHalving(tables, messages, {
    write: (some) =>
      writeBatch(
        tables,
        some.map(({ reading }) => reading),
      ),
    setAside: ({ message }) => writeBatch(tables, [{ rejected: rejectMessage(message, 'refused_by_database') }]),
  });
}

/** The same for spans: gives the records that were new, and how many spans Postgres refused. */
export async function storeSpans(
  tables: TraceTables,
  entries: readonly Entry[],
): Promise<{ added: TraceRecord[]; refused: number }> {
  let refused = 0;
  const added = await storeHalving(tables, entries, {
    write: (some) => writeEntries(tables, some),
    async setAside() {
      refused += 1;
      return [];
    },
  });
  return { added, refused };
}

type Storing<T> = {
  write(items: readonly T[]): Promise<TraceRecord[]>;
  /** What becomes of the one that Postgres refuses. */
  setAside(item: T): Promise<TraceRecord[]>;
};

async function storeHalving<T>(tables: TraceTables, items: readonly T[], storing: Storing<T>): Promise<TraceRecord[]> {
  try {
    return await withAttempts(tables, () => storing.write(items));
  } catch (error) {
    if (!isFaultOfData(error)) throw error;
    const [only] = items;
    if (items.length === 1 && only) return await storing.setAside(only);
    const middle = Math.ceil(items.length / 2);
    const added = await storeHalving(tables, items.slice(0, middle), storing);
    return [...added, ...(await storeHalving(tables, items.slice(middle), storing))];
  }
}

async function withAttempts<T>(tables: TraceTables, body: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await body();
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
