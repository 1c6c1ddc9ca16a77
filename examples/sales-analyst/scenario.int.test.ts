import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type PostgresServer, startPostgres } from '@pawl/devstack';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { prepare } from './example.ts';
import { type RehearsalOptions, declaredObjects, rehearse } from './rehearsal.suite.ts';

let folder: string;
let server: PostgresServer;
let client: pg.Client;
let secrets: Record<string, string>;
const log: string[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'sales-'));
  server = await startPostgres({ dataDir: folder, durable: false });
  secrets = (await prepare({ databaseUrl: server.url, log: (line) => log.push(line) })).secrets;
  client = new pg.Client({ connectionString: server.url });
  await client.connect();
}, 120_000);

afterAll(async () => {
  await client?.end();
  await server?.stop({ remove: true });
  await rm(folder, { recursive: true, force: true });
});

/** Plays the run on data that a statement has changed, and leaves the data as they were. */
async function rehearseAfter(change: string, options: Omit<RehearsalOptions, 'client'> = {}) {
  await client.query('begin');
  try {
    const { rowCount } = await client.query(change);
    expect(rowCount).toBeGreaterThan(0);
    return await rehearse({ client, ...options });
  } finally {
    await client.query('rollback');
  }
}

async function withReader<T>(use: (reader: pg.Client) => Promise<T>): Promise<T> {
  const reader = new pg.Client({ connectionString: secrets['SALES_DATABASE_URL'] });
  await reader.connect();
  try {
    return await use(reader);
  } finally {
    await reader.end();
  }
}

async function createDatabase(name: string, owner = 'default'): Promise<string> {
  await client.query(`create database ${name} owner ${owner}`);
  const url = new URL(server.url);
  url.pathname = `/${name}`;
  return url.href;
}

async function numberOf(sql: string): Promise<number> {
  return Number(((await client.query(sql)).rows[0] as { n: string }).n);
}

describe('the data in SQL', () => {
  test('show the figures of the story', async () => {
    const revenue = (filter: string) =>
      `(select sum(amount) from sales.orders where status = 'completed' and ${filter})`;
    const month = (text: string) => `to_char(ordered_on, 'YYYY-MM') = '${text}'`;
    const change = (a: string, b: string) => numberOf(`select round(100 * (${revenue(b)} / ${revenue(a)} - 1)) as n`);
    expect(await change(month('2026-01'), month('2026-02'))).toBe(-18);
    expect(await change(month('2025-02'), month('2026-02'))).toBe(-12);
    const lineC = "product_line = 'C' and ";
    expect(await change(lineC + month('2026-01'), lineC + month('2026-02'))).toBe(-42);
    const customerA = "customer = 'Customer A' and region = 'South China' and ";
    expect(await numberOf(`select ${revenue(customerA + month('2026-01'))} as n`)).toBe(3_500_000);
    expect(await numberOf(`select ${revenue(customerA + month('2026-02'))} as n`)).toBe(500_000);
    expect(await numberOf('select count(*) as n from sales.orders')).toBeGreaterThan(30_000);
  });

  test('are loaded once; changes by hand stay', async () => {
    await client.query(`update sales.orders set amount = 1234.56 where id = 100001`);
    const before = await numberOf('select sum(amount) as n from sales.orders');
    const again: string[] = [];
    const repeated = await prepare({ databaseUrl: server.url, log: (line) => again.push(line) });
    expect(await numberOf('select sum(amount) as n from sales.orders')).toBe(before);
    expect(repeated.secrets).toEqual(secrets);
    expect(log[0]).toMatch(/^Loaded 3\d{4} orders/);
    expect(again).toEqual(['Sales data is there and stays as it is.']);
  });

  test('load once when several prepare at the same time', async () => {
    const databaseUrl = await createDatabase('crowded');
    const lines: string[] = [];
    const all = [1, 2, 3].map(() => prepare({ databaseUrl, log: (line) => lines.push(line) }));
    expect(new Set((await Promise.all(all)).map((one) => one.secrets['SALES_DATABASE_URL'])).size).toBe(1);
    expect(lines.filter((line) => line.startsWith('Loaded'))).toHaveLength(1);
  });

  test('load into several databases of one server at the same time, although they share the role', async () => {
    const urls: string[] = [];
    for (const name of ['one', 'two', 'three']) urls.push(await createDatabase(name));
    const prepared = await Promise.all(urls.map((databaseUrl) => prepare({ databaseUrl })));
    for (const { secrets: own } of prepared) {
      expect(own['SALES_DATABASE_URL']).toMatch(/pawl_sales_reader:[0-9a-f]{64}@/);
    }
  });

  test('load for an owner who may not make roles; the tools then use the given connection', async () => {
    await client.query(`create role plain_owner login password 'plain'`);
    const url = new URL(await createDatabase('plain', 'plain_owner'));
    url.username = 'plain_owner';
    url.password = 'plain';
    const lines: string[] = [];
    const prepared = await prepare({ databaseUrl: url.href, log: (line) => lines.push(line) });
    expect(prepared.secrets).toEqual({ SALES_DATABASE_URL: url.href });
    expect(lines[1]).toMatch(/no read-only role/);
  });

  test('can be read with the given secret, and nothing can be written or read besides', async () => {
    await withReader(async (reader) => {
      await expect(reader.query('select count(*) from sales.orders')).resolves.toMatchObject({ rowCount: 1 });
      await expect(reader.query('delete from sales.orders')).rejects.toThrow(/read-only|permission denied/);
      await expect(reader.query('set default_transaction_read_only = off')).resolves.toBeDefined();
      await expect(reader.query('delete from sales.orders')).rejects.toThrow(/permission denied/);
      await expect(reader.query('select * from sales.dataset')).rejects.toThrow(/permission denied/);
    });
  });
});

describe('the declared objects', () => {
  test('are valid, and the agent names the tools that are there', async () => {
    const objects = await declaredObjects();
    const agent = objects.find((object) => object.kind === 'Agent');
    const tools = objects.filter((object) => object.kind === 'Tool').map((object) => object.metadata.name);
    expect(agent?.spec.tools).toEqual(tools);
    expect(objects.find((object) => object.kind === 'DataSource')?.metadata.name).toBe('warehouse');
  });
});

describe('the run', () => {
  test('takes five rounds, with the read-only connection, and names every figure', async () => {
    const { turns, answer, thoughts, summary } = await withReader((reader) => rehearse({ client: reader }));
    expect(turns).toEqual([
      ['query_metric metric=revenue'],
      ['product_line', 'region', 'customer'].map(
        (dimension) => `aggregate_metric dimension=${dimension} month_a=2026-01 month_b=2026-02`,
      ),
      ['aggregate_metric dimension=customer month_a=2026-01 month_b=2026-02 product_line=C region=South China'],
      ['query_dataset month=2026-02 customer=Customer A status=cancelled limit=5'],
    ]);
    expect(answer.split('\n')).toEqual([
      'Completed sales revenue fell in February 2026: 13.7 M CNY, −18 % against January 2026 (16.7 M) and −12 % against February 2025 (15.5 M).',
      'The drop sits in product line C: −42 %, from 7.2 M to 4.1 M. The other lines are about flat (A +1.0 %, B −0.8 %, D −0.3 %).',
      expect.stringMatching(/^By region it is South China: −\d\d %, from 6\.4 M to 3\.4 M\.$/),
      'Behind it is one customer: Customer A in South China, from 3.5 M to 0.5 M. That is 3.0 M less, about 100 % of the whole drop.',
      expect.stringMatching(
        /^The cause: the order of Customer A of 15 February over 3\.0 M \(number \d+\) was cancelled on 18 February\. Reason given: "Customer postponed its plant expansion to the third quarter and withdrew the order"\. With it, revenue would have been 16\.7 M, level with January 2026\.$/,
      ),
    ]);
    for (const thought of thoughts) expect(thought).toMatch(/^Known: .+\nMissing: .+\nNext: .+$/);
    expect(summary).toContain('product line C: −42 %');
  });

  test('says line B when the drop is in line B', async () => {
    const { answer, turns } = await rehearseAfter(
      `update sales.orders set product_line = 'B' where customer = 'Customer A' and ordered_on >= '2026-01-01'`,
    );
    expect(answer).toMatch(/product line B: −4\d %/);
    expect(answer).not.toMatch(/product line C/);
    expect(turns[2]?.[0]).toContain('product_line=B');
  });

  test('names another customer and region when they lost most', async () => {
    const { answer } = await rehearseAfter(
      `update sales.orders set customer = 'Customer Z', region = 'West China' where customer = 'Customer A'`,
    );
    expect(answer).toMatch(/one customer: Customer Z in West China, from 3\.\d M to 0\.\d M/);
    expect(answer).not.toContain('Customer A ');
    expect(answer).toMatch(/order of Customer Z of 15 February over 3\.0 M/);
  });

  test('sees no drop when the cancelled order went through', async () => {
    const { answer, turns } = await rehearseAfter(
      `update sales.orders set status = 'completed' where ordered_on = '2026-02-15' and amount = 3000000`,
    );
    expect(turns).toHaveLength(1);
    expect(answer).toMatch(/did not fall in February 2026: 16\.7 M CNY, 0 % against January 2026/);
    expect(answer).not.toMatch(/cancelled/);
  });

  test('says that no cancelled order was found when there is none', async () => {
    const { answer } = await rehearseAfter(
      `delete from sales.orders where ordered_on = '2026-02-15' and amount = 3000000`,
    );
    expect(answer).toContain('Customer A in South China, from 3.5 M to 0.5 M');
    expect(answer).toMatch(/No cancelled order of Customer A was found that could explain this/);
  });

  test('gives the amount, day and reason that are in the data', async () => {
    const { answer } = await rehearseAfter(`
      with changed as (
        update sales.orders set amount = 2400000, ordered_on = '2026-02-09' where amount = 3000000 and status = 'cancelled' returning id
      )
      update sales.order_cancellations set reason = 'Price too high' where order_id = (select id from changed)`);
    expect(answer).toMatch(
      /of 9 February over 2\.4 M .* Reason given: "Price too high"\. With it, revenue would have been 16\.1 M, −4 %/,
    );
  });

  test.each([
    [
      'Why did revenue fall in january?',
      /^Completed sales revenue did not fall in January 2026: .* against December 2025/,
    ],
    ['Why did revenue drop in April?', /^Completed sales revenue fell in April 2025: .* against March 2025/],
    [
      'Why did revenue drop in February 2025?',
      /^Completed sales revenue .* in February 2025: .* against January 2025 \(15\.6 M\)\.$/m,
    ],
    [
      'Why did revenue drop in March 2023?',
      /^The data has no figures for the month in question\. It goes from January 2025 to February 2026/,
    ],
    ['Why did revenue drop?', /^Completed sales revenue fell in February 2026/],
  ])('follows the month in the question: %s', async (question, expected) => {
    expect((await rehearse({ client, question })).answer).toMatch(expected);
  });

  test('leaves other questions to a real model', async () => {
    const { answer, turns } = await rehearse({ client, question: 'What is 1+1?' });
    expect(turns).toEqual([]);
    expect(answer).toMatch(/scripted stand-in/);
  });
});

describe('when tools fail', () => {
  test.each([['query_metric'], ['aggregate_metric'], ['query_dataset']])('%s is replaced by SQL', async (tool) => {
    const { answer, turns } = await rehearse({ client, failing: [tool] });
    expect(turns.flat().join('\n')).toContain('execute_sql query=select');
    expect(answer).toContain('product line C: −42 %');
    expect(answer).toContain('Customer A');
    expect(answer).toMatch(/order of Customer A of 15 February over 3\.0 M/);
    expect(answer).toContain(`Not everything worked: ${tool} (The database did not answer).`);
  });

  test('and SQL too, the answer says what could not be read', async () => {
    const all = await rehearse({ client, failing: ['query_metric', 'execute_sql'] });
    expect(all.answer).toMatch(/^I could not find out why.*\nNot everything worked: query_metric .*; execute_sql /s);
    const orders = await rehearse({ client, failing: ['query_dataset', 'execute_sql'] });
    expect(orders.answer).toContain('Customer A in South China, from 3.5 M to 0.5 M');
    expect(orders.answer).not.toMatch(/cause: |No cancelled order/);
    expect(orders.answer).toMatch(/the cause is not certain/);
  });

  test.each([
    [0, /^No sales figures could be read\.\nThis is as far as I got/],
    [1, /^Completed sales revenue fell in February 2026.*\nThis is as far as I got/],
    [2, /product line C: −42 %[^]*Customer A[^]*\nThis is as far as I got/],
    [4, /The cause: the order of Customer A(?![^]*as far as I got)/],
  ])('a closing call after %i turns gives what is known', async (turnsMax, expected) => {
    const { answer, turns } = await rehearse({ client, turnsMax });
    expect(turns).toHaveLength(turnsMax);
    expect(answer).toMatch(expected);
  });
});
