/**
 * What a starter of examples needs to know of this one: how to prepare its data, and what to ask.
 */
import pg from 'pg';
import { loadSales } from './load-sales.ts';
import { prepareReader } from './reader-role.ts';

export const app = 'demo';
export const agent = 'sales-analyst';
export const question = 'Why did sales revenue suddenly drop in February?';

export interface PrepareOptions {
  /** A database whose owner this is; the schema `sales` is made in it. */
  databaseUrl: string;
  /** Gets a sentence for each thing done. */
  log?: (line: string) => void;
}

/**
 * Loads the sales data if there is none and gives the secrets that the tools need: `SALES_DATABASE_URL`, a read-only
 * connection where the database allows to make one. Safe to repeat; data that is there stays as it is.
 */
export async function prepare(options: PrepareOptions): Promise<{ secrets: Record<string, string> }> {
  const client = new pg.Client({ connectionString: options.databaseUrl });
  await client.connect();
  try {
    const count = await loadSales(client);
    const loaded =
      count === null ? 'Sales data is there and stays as it is.' : `Loaded ${count} orders into schema sales.`;
    options.log?.(loaded);
    const reader = await prepareReader(client, options.databaseUrl);
    if (!reader.isReadOnly) options.log?.('The database allows no read-only role; the tools use the given connection.');
    return { secrets: { SALES_DATABASE_URL: reader.url } };
  } finally {
    await client.end();
  }
}
