/** Postgres: a pool, transactions, and failures that say who must act. */
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { UnavailableError } from '@pawl/contracts';

/** Anything that takes SQL: the pool or one transaction. Values are bound as `$1`, `$2`, …; never named statements. */
export type Queryable = {
  query<Row extends object>(text: string, values?: unknown[]): Promise<Row[]>;
};

export type Database = Queryable & {
  /** Runs `body` in one transaction; rolled back when it throws. A query that failed can't be caught and passed over. */
  transaction<T>(body: (client: Queryable) => Promise<T>): Promise<T>;
  isReachable(): Promise<boolean>;
  close(): Promise<void>;
};

export type DatabaseOptions = {
  /** `postgres://user:password@host:port/database`. */
  url: string;
  /** PEM file of whom to trust: connections are then encrypted, and the server's name is checked. */
  caFile?: string | undefined;
  /** Shown in `pg_stat_activity`. */
  applicationName: string;
  /** Connections at the most. Default 10. */
  poolMax?: number;
};

/**
 * A pool of connections; connects at the first query. `bigint` and `numeric` columns arrive as text, exact.
 * A lost or refused connection becomes `UnavailableError`; any other failure of SQL is thrown as it is.
 */
export function connectDatabase(options: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: options.url,
    ...(options.caFile !== undefined && { ssl: { ca: readFileSync(options.caFile, 'utf8') } }),
    application_name: options.applicationName,
    max: options.poolMax ?? 10,
    connectionTimeoutMillis: 5_000,
    idleTimeoutMillis: 60_000,
    keepAlive: true,
  });
  pool.on('error', () => {});

  const query = <Row extends object>(text: string, values?: unknown[]) => run<Row>(pool, text, values);
  return {
    query,
    async transaction(body) {
      const client = await pool.connect().catch(rethrow);
      let broken: Error | undefined;
      // A connection that breaks is met by the query under way; without a listener it would end the process as well.
      const onError = (error: Error) => (broken = error);
      client.on('error', onError);
      try {
        await client.query('begin').catch(rethrow);
        const result = await body({ query: (text, values) => run(client, text, values) });
        const { command } = await client.query('commit').catch(rethrow);
        if (command !== 'COMMIT')
          throw new TypeError('the transaction went on after a failed query and was rolled back');
        return result;
      } catch (error) {
        await client.query('rollback').catch((failure: Error) => (broken = failure));
        throw error;
      } finally {
        client.off('error', onError);
        client.release(broken);
      }
    },
    async isReachable() {
      try {
        await pool.query('select 1');
        return true;
      } catch {
        return false;
      }
    },
    close: () => pool.end(),
  };
}

async function run<Row extends object>(on: pg.Pool | pg.PoolClient, text: string, values?: unknown[]): Promise<Row[]> {
  const result = await on.query<Row>(text, values).catch(rethrow);
  return result.rows;
}

function rethrow(error: unknown): never {
  if (isConnectionFailure(error)) throw new UnavailableError('Postgres does not answer', error);
  throw error;
}

/** SQLSTATE classes 08 (connection), 53 (resources), 57P (shutdown), and what sockets and the pool throw. */
function isConnectionFailure(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = 'code' in error && typeof error.code === 'string' ? error.code : undefined;
  if (code === undefined) return /timeout|terminated|Connection ended|not queryable/i.test(error.message);
  return /^(08|53|57P)/.test(code) || /^E[A-Z]+$/.test(code);
}
