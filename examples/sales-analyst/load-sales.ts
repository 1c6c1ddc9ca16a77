/**
 * Loads the sales data into a database, once, in one transaction.
 *
 * 1. Data that is there is never touched, so figures changed by hand stay changed.
 * 2. Several loaders at once load once: they wait for each other.
 */
import { readFile } from 'node:fs/promises';
import type { Client } from 'pg';
import { DATA_SEED, DATA_VERSION, type SalesData, createSalesData } from './sales-data.ts';

const LOCK_KEY = 7_301_001;
const BATCH_ROWS = 5_000;

const INSERT_ORDERS = `
  insert into sales.orders (id, ordered_on, product_line, region, customer, status, amount)
  select id, ordered_on, product_line, region, customer, status, amount_cents / 100.0
  from unnest($1::bigint[], $2::date[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[])
    as given (id, ordered_on, product_line, region, customer, status, amount_cents)`;

const INSERT_CANCELLATIONS = `
  insert into sales.order_cancellations (order_id, cancelled_on, reason)
  select * from unnest($1::bigint[], $2::date[], $3::text[])`;

/** Number of orders loaded, or null when data was there already. Rejects when the schema can't be made. */
export async function loadSales(client: Client): Promise<number | null> {
  if (await isLoaded(client)) return null;
  await client.query('begin');
  try {
    await client.query('select pg_advisory_xact_lock($1)', [LOCK_KEY]);
    const isNeeded = !(await isLoaded(client));
    const count = isNeeded ? await insertAll(client, createSalesData()) : null;
    await client.query('commit');
    if (isNeeded) await client.query('analyze sales.orders, sales.order_cancellations');
    return count;
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}

/** Asks the catalogue and not `to_regclass`, whose cached "no" could outlive another loader's commit. */
async function isLoaded(client: Client): Promise<boolean> {
  const table = await client.query(`select from pg_tables where schemaname = 'sales' and tablename = 'dataset'`);
  if (table.rowCount === 0) return false;
  return ((await client.query('select from sales.dataset limit 1')).rowCount ?? 0) > 0;
}

async function insertAll(client: Client, data: SalesData): Promise<number> {
  await client.query(await readFile(new URL('schema.sql', import.meta.url), 'utf8'));
  for (let start = 0; start < data.orders.length; start += BATCH_ROWS) {
    const rows = data.orders.slice(start, start + BATCH_ROWS);
    await client.query(INSERT_ORDERS, [
      rows.map((row) => row.id),
      rows.map((row) => row.orderedOn),
      rows.map((row) => row.productLine),
      rows.map((row) => row.region),
      rows.map((row) => row.customer),
      rows.map((row) => row.status),
      rows.map((row) => row.amountCents),
    ]);
  }
  await client.query(INSERT_CANCELLATIONS, [
    data.cancellations.map((row) => row.orderId),
    data.cancellations.map((row) => row.cancelledOn),
    data.cancellations.map((row) => row.reason),
  ]);
  await client.query('insert into sales.dataset (version, seed) values ($1, $2)', [DATA_VERSION, DATA_SEED]);
  return data.orders.length;
}
