/**
 * Runs one statement on a pooled connection: in a read-only transaction with a time limit, batch by batch up to the caps, and
 * always rolled back. What is above the cap goes to where results are kept while it is read. The extended protocol takes exactly one statement, whatever the text holds.
 * When the signal is aborted the server is told to cancel, and the connection is thrown away.
 */
import type pg from 'pg';
import Cursor from 'pg-cursor';
import { BrokenOffError, type Stored } from '../../call/outcome.ts';
import type { Spool } from '../../results/result-store.ts';
import { storeRest } from '../../results/take-body.ts';
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
  /** Where rows go that are more than that. */
  spool: Spool | undefined;
  onLife: () => void;
  signal: AbortSignal;
  /** Called within the transaction before the statement; what it gives ends the call. */
  admit?: (ask: AskDatabase) => Promise<Rejection | undefined>;
};

type Rejection = object;

export type ReadRows = {
  columns: Column[];
  /** JSON texts; none where they were stored. */
  rows: string[];
  stored?: Stored;
  rowCount: number;
  stoppedAt: 'end' | 'rows' | 'bytes';
};

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
    const onLife = () => {
      guard.reset();
      request.onLife();
    };
    const result = await orAborted(runStatement(client, { ...request, onLife }), signal);
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

async function readCursor(client: pg.PoolClient, request: ReadRequest): Promise<ReadRows> {
  const cursor = client.query(
    new Cursor<(string | null)[]>(request.text, request.values, { rowMode: 'array', types: asText }),
  );
  const reading = createReading(cursor, request);
  const first = await reading.next();
  const columns = columnsOf(first.fields);
  const rows: string[] = [];
  let bytes = 0;
  for (let batch = first; ; batch = await reading.next()) {
    for (const values of batch.rows) rows.push(rowJson(columns, values));
    bytes += batch.bytes;
    if (batch.stoppedAt !== undefined || bytes > request.bytesMax) break;
  }
  const stored =
    bytes > request.bytesMax && request.spool
      ? await storeTable({ columns, rows, reading, spool: request.spool })
      : undefined;
  if (!stored && bytes > request.bytesMax) fitInto(rows, request.bytesMax, reading);
  await cursor.close();
  const rowCount = stored?.rowCount ?? rows.length;
  const stoppedAt = stored?.isCut === true ? 'bytes' : (reading.stoppedAt() ?? 'end');
  return { columns, rows: stored ? [] : rows, ...(stored ? { stored } : {}), rowCount, stoppedAt };
}

/** Without a place for the rest, the rows that fit are the result. */
function fitInto(rows: string[], bytesMax: number, reading: Reading): void {
  let bytes = rows.reduce((sum, row) => sum + row.length, 0);
  while (bytes > bytesMax) bytes -= rows.pop()?.length ?? 0;
  reading.stop('bytes');
}

type ReadingBatch = Batch & { bytes: number; stoppedAt: 'end' | 'rows' | undefined };

type Reading = {
  next(): Promise<ReadingBatch>;
  stoppedAt(): ReadRows['stoppedAt'] | undefined;
  stop(at: 'bytes'): void;
};

const firstBatchRows = 10;
const batchRowsMax = 500;
/** A batch comes whole, so it should not be much larger than this. */
const batchBytesWanted = 256 * 1024;
const rowsAtOnce = 50;

/** Reads batch by batch up to the cap of rows; how many rows a batch has follows from how large they are. */
function createReading(cursor: Cursor<(string | null)[]>, { rowsMax, onLife }: ReadRequest): Reading {
  let rowCount = 0;
  let bytes = 0;
  let stoppedAt: ReadRows['stoppedAt'] | undefined;
  return {
    stoppedAt: () => stoppedAt,
    stop: (at) => void (stoppedAt = at),
    async next() {
      const perRow = Math.max(1, bytes / Math.max(1, rowCount));
      const fitting = rowCount === 0 ? firstBatchRows : Math.floor(batchBytesWanted / perRow);
      const wanted = Math.min(Math.max(1, fitting), batchRowsMax, rowsMax + 1 - rowCount);
      const batch = await readBatch(cursor, wanted);
      onLife();
      const isShort = batch.rows.length < wanted;
      const rows = batch.rows.slice(0, rowsMax - rowCount);
      const read = rows.reduce((sum, row) => sum + row.reduce((chars, value) => chars + (value?.length ?? 4), 0), 0);
      rowCount += rows.length;
      bytes += read;
      const end = rows.length < batch.rows.length ? 'rows' : isShort ? 'end' : undefined;
      stoppedAt = end;
      return { ...batch, rows, bytes: read, stoppedAt: end };
    },
  };
}

type TableParts = { columns: Column[]; rows: string[]; reading: Reading; spool: Spool };

/** Stores a table while its rows are read; one that is cut ends with its last whole row. */
async function storeTable({ columns, rows, reading, spool }: TableParts): Promise<Stored & { rowCount: number }> {
  let rowCount = 0;
  let isCut = false;
  const names = JSON.stringify(columns.map((column) => column.name));
  let bytes = 200 + names.length;
  const nextPiece = (batch: string[]): string => {
    const piece: string[] = [];
    for (const row of batch.splice(0, rowsAtOnce)) {
      bytes += Buffer.byteLength(row) + 1;
      isCut ||= bytes > spool.bytesMax;
      if (isCut) break;
      piece.push(rowCount === 0 ? row : `,${row}`);
      rowCount += 1;
    }
    return piece.join('');
  };
  async function* table(): AsyncGenerator<Uint8Array> {
    yield Buffer.from(`{"columns":${names},"rows":[`);
    for (let batch = rows.splice(0); !isCut;) {
      while (batch.length > 0 && !isCut) yield Buffer.from(nextPiece(batch));
      if (isCut || reading.stoppedAt() !== undefined) break;
      batch = (await reading.next()).rows.map((values) => rowJson(columns, values));
    }
    yield Buffer.from(`],"rowCount":${rowCount}}`);
  }
  const stored = await storeRest(table(), { spool, part: { format: 'json' } });
  return { ...stored, isCut, rowCount };
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
      remoteAddress?: string;
    };
  };
  processID?: number;
  secretKey?: number;
  host?: string;
  port?: number;
};

/** Counts what the server sends for one batch, and hangs up before one huge value fills the memory. */
function guardAnswers(client: pg.PoolClient, bytesMax: number): { isTooLarge(): boolean; reset(): void; stop(): void } {
  const stream = (client as unknown as ClientInternals).connection?.stream;
  let received = 0;
  let isTooLarge = false;
  const count = (chunk: Buffer) => {
    received += chunk.length;
    // A well-behaved batch may be somewhat larger than what is kept of it.
    if (received <= bytesMax * 2 || isTooLarge) return;
    isTooLarge = true;
    stream?.destroy();
  };
  stream?.on('data', count);
  return {
    isTooLarge: () => isTooLarge,
    reset: () => void (received = 0),
    stop: () => stream?.off('data', count),
  };
}

async function cancelOnServer(client: pg.PoolClient): Promise<void> {
  const { connection, processID, secretKey, port, ...named } = client as unknown as ClientInternals;
  // The very server: a name may lead to another one now.
  const host = connection?.stream?.remoteAddress ?? named.host;
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
