/**
 * Runs one statement on a pooled connection: in a read-only transaction with a time limit, row by row up to the caps, and
 * always rolled back. The extended protocol takes exactly one statement, whatever the text holds.
 * When the signal is aborted the server is told to cancel, and the connection is thrown away.
 */
import type pg from 'pg';
import Cursor from 'pg-cursor';
import { BrokenOffError } from '../../call/outcome.ts';
import { cancelStatement } from './cancel-statement.ts';
import { distinctNames, rowJson, type Column } from './row-json.ts';
import type { AskDatabase } from './table-access.ts';

export type ReadRequest = {
  text: string;
  values: unknown[];
  rowsMax: number;
  /** Bytes of JSON text at the most; reading stops there. */
  bytesMax: number;
  deadlineAtMs: number;
  signal: AbortSignal;
  /** Called within the transaction before the statement; what it gives ends the call. */
  admit?: (ask: AskDatabase) => Promise<Rejection | undefined>;
};

type Rejection = object;

export type ReadRows = { columns: Column[]; rows: string[]; stoppedAt: 'end' | 'rows' | 'bytes' };

/** Thrown when one answer of the server is larger than the cap. */
export class AnswerTooLargeError extends Error {
  override readonly name = 'AnswerTooLargeError';
}

/** Reads rows. Throws what Postgres throws, `BrokenOffError` when aborted, or `AnswerTooLargeError`. */
export async function readRows<R extends Rejection>(
  pool: pg.Pool,
  request: ReadRequest & { admit?: (ask: AskDatabase) => Promise<R | undefined> },
): Promise<ReadRows | R> {
  const { signal } = request;
  signal.throwIfAborted();
  const connecting = pool.connect();
  const client = await orAborted(connecting, signal).catch((error: unknown) => {
    void connecting.then((late) => late.release()).catch(() => {});
    throw error;
  });
  // A connection that breaks while it is held tells so beside the query, and an error that nobody hears ends the process.
  client.on('error', ignore);
  const guard = guardAnswers(client, request.bytesMax);
  let isClean = false;
  try {
    const result = await orAborted(runStatement(client, request), signal);
    isClean = true;
    return result as ReadRows | R;
  } catch (error) {
    if (guard.isTooLarge()) throw new AnswerTooLargeError('the answer is larger than the cap');
    if (error instanceof BrokenOffError) await cancelOnServer(client);
    isClean = await rollBack(client, error);
    throw error;
  } finally {
    guard.stop();
    if (isClean) client.off('error', ignore);
    client.release(!isClean);
  }
}

function ignore(): void {}

async function runStatement(client: pg.PoolClient, request: ReadRequest): Promise<ReadRows | Rejection> {
  const limitMs = Math.max(1, Math.ceil(request.deadlineAtMs - Date.now()));
  await client.query(
    `begin read only; set local statement_timeout = ${limitMs}; set local datestyle = 'ISO, YMD'; set local intervalstyle = 'iso_8601'`,
  );
  const rejection = await request.admit?.((sql, values) => ask(client, sql, values));
  const result = rejection ?? (await readCursor(client, request));
  // Session-level advisory locks are the one thing that a SELECT can leave behind after a rollback.
  await client.query('rollback; select pg_catalog.pg_advisory_unlock_all()');
  return result;
}

async function ask(client: pg.PoolClient, sql: string, values: unknown[]): Promise<(string | null)[][]> {
  const result = await client.query<(string | null)[]>({ text: sql, values, rowMode: 'array', types: asText });
  return result.rows;
}

/** Leaves every value as the text that the server sent. */
const asText = { getTypeParser: () => (text: string | null) => text };

const firstBatchRows = 50;
const batchRowsMax = 500;

async function readCursor(client: pg.PoolClient, request: ReadRequest): Promise<ReadRows> {
  const cursor = client.query(
    new Cursor<(string | null)[]>(request.text, request.values, { rowMode: 'array', types: asText }),
  );
  const rows: string[] = [];
  let columns: Column[] = [];
  let bytes = 0;
  let stoppedAt: ReadRows['stoppedAt'] | undefined;
  while (stoppedAt === undefined) {
    const wanted = Math.min(rows.length === 0 ? firstBatchRows : batchRowsMax, request.rowsMax + 1 - rows.length);
    const batch = await readBatch(cursor, wanted);
    if (rows.length === 0) columns = columnsOf(batch.fields);
    for (const values of batch.rows) {
      const row = rowJson(columns, values);
      bytes += row.length;
      if (rows.length === request.rowsMax) stoppedAt ??= 'rows';
      else if (bytes > request.bytesMax) stoppedAt ??= 'bytes';
      if (stoppedAt !== undefined) break;
      rows.push(row);
    }
    if (batch.rows.length < wanted) stoppedAt ??= 'end';
  }
  await cursor.close();
  return { columns, rows, stoppedAt };
}

type Batch = { rows: (string | null)[][]; fields: pg.FieldDef[] };

function readBatch(cursor: Cursor<(string | null)[]>, count: number): Promise<Batch> {
  return new Promise((resolve, reject) => {
    cursor.read(count, (error, rows, result) => {
      if (error) reject(error);
      else resolve({ rows, fields: result.fields });
    });
  });
}

function columnsOf(fields: readonly pg.FieldDef[]): Column[] {
  const names = distinctNames(fields.map((field) => field.name));
  return fields.map((field, at) => ({ name: names[at] ?? field.name, typeId: field.dataTypeID }));
}

/** What `pg` knows of a connection beyond its declared types. */
type ClientInternals = {
  connection?: {
    stream?: {
      on(event: 'data', f: (chunk: Buffer) => void): void;
      off(event: 'data', f: (chunk: Buffer) => void): void;
      destroy(): void;
    };
  };
  processID?: number;
  secretKey?: number;
  host?: string;
  port?: number;
};

/** Counts what the server sends, and hangs up before one huge value fills the memory. */
function guardAnswers(client: pg.PoolClient, bytesMax: number): { isTooLarge(): boolean; stop(): void } {
  const stream = (client as unknown as ClientInternals).connection?.stream;
  let received = 0;
  let isTooLarge = false;
  const count = (chunk: Buffer) => {
    received += chunk.length;
    // Rows arrive in batches, so a well-behaved answer may be somewhat larger than what is kept of it.
    if (received <= bytesMax * 2 || isTooLarge) return;
    isTooLarge = true;
    stream?.destroy();
  };
  stream?.on('data', count);
  return { isTooLarge: () => isTooLarge, stop: () => stream?.off('data', count) };
}

async function cancelOnServer(client: pg.PoolClient): Promise<void> {
  const { processID, secretKey, host, port } = client as unknown as ClientInternals;
  if (processID === undefined || secretKey === undefined || host === undefined || port === undefined) return;
  await cancelStatement({ host, port, processId: processID, secretKey });
}

/** Whether the connection is usable again. After an abort or a lost connection it isn't worth asking. */
async function rollBack(client: pg.PoolClient, error: unknown): Promise<boolean> {
  const isQueryError = error instanceof Error && 'severity' in error && error.severity === 'ERROR';
  if (!isQueryError) return false;
  return await client.query('rollback').then(
    () => true,
    () => false,
  );
}

function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    signal.addEventListener('abort', onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
