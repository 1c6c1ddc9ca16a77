/**
 * Stores a batch so that one message that Postgres refuses never holds up the others: the batch is halved until the
 * culprit stands alone, and then it is set aside.
 */
import { UnavailableError } from '@pawl/contracts';
import type { Database } from '@pawl/db';
import { rejectMessage, type FactMessage, type FactReading } from '../record/fact-message.ts';
import { writeBatch } from './write-batch.ts';

export type ReadMessage = { message: FactMessage; reading: FactReading };

/** How often a batch is tried when another writer was in the way. */
const attemptsMax = 3;

/**
 * When it resolves, every message is committed, as a record or as rejected.
 * Throws `UnavailableError` while Postgres is away, and what Postgres said when the fault is not in the messages.
 */
export async function storeMessages(database: Database, messages: readonly ReadMessage[]): Promise<void> {
  try {
    await writeWithAttempts(
      database,
      messages.map(({ reading }) => reading),
    );
  } catch (error) {
    if (!isFaultOfData(error)) throw error;
    const [only] = messages;
    if (messages.length === 1 && only) {
      await writeBatch(database, [{ rejected: rejectMessage(only.message, 'refused_by_database') }]);
      return;
    }
    const middle = Math.ceil(messages.length / 2);
    await storeMessages(database, messages.slice(0, middle));
    await storeMessages(database, messages.slice(middle));
  }
}

async function writeWithAttempts(database: Database, readings: readonly FactReading[]): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    try {
      await writeBatch(database, readings);
      return;
    } catch (error) {
      if (attempt >= attemptsMax || !isConflict(error)) throw error;
    }
  }
}

/** SQLSTATE 40001 serialization failure, 40P01 deadlock: the same batch may succeed at once. */
function isConflict(error: unknown): boolean {
  return /^40(001|P01)$/.test(sqlStateOf(error));
}

/** SQLSTATE classes 22 (data), 23 (constraints) and 54 (program limits): trying again can't help. */
function isFaultOfData(error: unknown): boolean {
  return !(error instanceof UnavailableError) && /^(22|23|54)/.test(sqlStateOf(error));
}

function sqlStateOf(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : '';
}
