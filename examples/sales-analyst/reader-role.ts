/**
 * A database role that can read the sales tables and nothing else, for the tools' connection.
 */
import { createHash, randomBytes } from 'node:crypto';
import type { Client } from 'pg';

const ROLE = 'pawl_sales_reader';
const LOCK_KEY = 7_301_002;
const INSUFFICIENT_PRIVILEGE = '42501';
/** Roles belong to the whole server, locks to one database: another database may change the role at the same moment. */
const CONCURRENT_CHANGE = 'XX000';
const ATTEMPTS_MAX = 5;

/**
 * Connection URL of the read-only role, made or renewed as needed. Without the right to make roles it is the given URL,
 * and `isReadOnly` is false. Safe to repeat and to run at the same time as others.
 */
export async function prepareReader(
  client: Client,
  databaseUrl: string,
): Promise<{ url: string; isReadOnly: boolean }> {
  const url = new URL(databaseUrl);
  const password = passwordFor(url);
  for (let attempt = 1; ; attempt += 1) {
    const failure = await setUpRole(client, password);
    if (failure === undefined) break;
    if (failure.code === INSUFFICIENT_PRIVILEGE) return { url: databaseUrl, isReadOnly: false };
    if (failure.code !== CONCURRENT_CHANGE || attempt === ATTEMPTS_MAX) throw failure;
  }
  url.username = ROLE;
  url.password = password;
  return { url: url.href, isReadOnly: true };
}

async function setUpRole(client: Client, password: string): Promise<(Error & { code?: string }) | undefined> {
  await client.query('begin');
  try {
    await client.query('select pg_advisory_xact_lock($1)', [LOCK_KEY]);
    await client.query(roleSql(client, password));
    await client.query('commit');
    return undefined;
  } catch (error) {
    await client.query('rollback');
    return error as Error & { code?: string };
  }
}

/** The owner's password decides, so that every start agrees on it; where the owner has none it is random. */
function passwordFor(url: URL): string {
  if (url.password === '') return randomBytes(24).toString('hex');
  return createHash('sha256').update(`${ROLE}:${url.username}:${url.password}`).digest('hex');
}

function roleSql(client: Client, password: string): string {
  return `
    do $$ begin
      if not exists (select from pg_roles where rolname = '${ROLE}') then create role ${ROLE}; end if;
    exception when duplicate_object or unique_violation then null;
    end $$;
    alter role ${ROLE} with login nosuperuser nocreatedb nocreaterole password ${client.escapeLiteral(password)};
    alter role ${ROLE} set default_transaction_read_only = on;
    alter role ${ROLE} set statement_timeout = '20s';
    grant usage on schema sales to ${ROLE};
    grant select on sales.orders, sales.order_cancellations to ${ROLE};`;
}
