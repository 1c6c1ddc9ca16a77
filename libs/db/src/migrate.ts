/**
 * Migrations: numbered SQL files of one schema, forward only. Each is applied once, in its own transaction, under an
 * advisory lock, so that several processes may start it at once and a killed one leaves nothing half done.
 */
import { readdir, readFile } from 'node:fs/promises';
import { sha256 } from '@pawl/contracts';
import { connectDatabase, type Database, type Queryable } from './database.ts';

const fileName = /^\d{4}_[a-z0-9_]+\.sql$/;

export type MigrateOptions = {
  url: string;
  /** As in `DatabaseOptions`. */
  caFile?: string | undefined;
  /** The schema that the files make and that keeps the list of what was applied. */
  schema: string;
  /** The folder with the files `0001_name.sql`, …. */
  folder: URL;
};

type Migration = { name: string; sql: string; checksum: string };

/** Applies what is missing and gives the names of what it applied. Safe to repeat. */
export async function migrate(options: MigrateOptions): Promise<string[]> {
  const wanted = await readMigrations(options.folder);
  const { url, caFile, schema } = options;
  const database = connectDatabase({ url, caFile, applicationName: `pawl-migrate-${schema}`, poolMax: 1 });
  const applied: string[] = [];
  try {
    await underLock(database, options.schema, (client) => prepare(client, options.schema));
    for (const migration of wanted) {
      const isNew = await underLock(database, options.schema, (client) => apply(client, options.schema, migration));
      if (isNew) applied.push(migration.name);
    }
    return applied;
  } finally {
    await database.close();
  }
}

/** Waits until every file of the folder is applied, telling `log` once a second what is missing. */
export async function waitForMigrations(
  database: Database,
  options: { schema: string; folder: URL; log: (line: string) => void; signal?: AbortSignal },
): Promise<void> {
  const wanted = await readMigrations(options.folder);
  for (;;) {
    const missing = await missingMigrations(database, options.schema, wanted);
    if (missing.length === 0) return;
    options.log(`waiting for migrations of schema ${options.schema}: ${missing.join(', ')}`);
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    options.signal?.throwIfAborted();
  }
}

async function missingMigrations(database: Database, schema: string, wanted: Migration[]): Promise<string[]> {
  try {
    const rows = await database.query<{ name: string }>(`select name from ${schema}.migrations`);
    const applied = new Set(rows.map((row) => row.name));
    return wanted.map((migration) => migration.name).filter((name) => !applied.has(name));
  } catch (error) {
    return [error instanceof Error ? error.message : 'the database does not answer'];
  }
}

async function readMigrations(folder: URL): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => fileName.test(name)).toSorted();
  return await Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, folder), 'utf8');
      return { name, sql, checksum: sha256(sql) };
    }),
  );
}

/** A transaction-scoped lock: it ends with the transaction, also behind a pooler. */
function underLock<T>(database: Database, schema: string, body: (client: Queryable) => Promise<T>): Promise<T> {
  return database.transaction(async (client) => {
    await client.query('select pg_advisory_xact_lock(hashtextextended($1, 0))', [`pawl migrate ${schema}`]);
    return await body(client);
  });
}

async function prepare(client: Queryable, schema: string): Promise<void> {
  await client.query(`create schema if not exists ${schema}`);
  await client.query(
    `create table if not exists ${schema}.migrations
       (name text primary key, checksum text not null, applied_at timestamptz not null default now())`,
  );
}

async function apply(client: Queryable, schema: string, migration: Migration): Promise<boolean> {
  const rows = await client.query<{ checksum: string }>(`select checksum from ${schema}.migrations where name = $1`, [
    migration.name,
  ]);
  const known = rows[0]?.checksum;
  if (known === migration.checksum) return false;
  if (known !== undefined) throw new TypeError(`${migration.name} was changed after it had been applied`);
  await client.query(migration.sql);
  await client.query(`insert into ${schema}.migrations (name, checksum) values ($1, $2)`, [
    migration.name,
    migration.checksum,
  ]);
  return true;
}
