import pg from 'pg';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { dataSourceSchema, type DataSource } from '@pawl/contracts';
import { createTestDatabase } from '@pawl/testkit';
import { createTargets } from '@pawl/service/targets';
import { callKind, dataOf, describeKind, toolOf } from './kind.suite.ts';
import { createSqlKind } from './sql.ts';
import { createSqlSources } from './sql/sql-sources.ts';

let url = '';
let drop = async () => {};
let admin: pg.Client;

const sourceOf = (spec: DataSource['spec'], name: string) =>
  dataSourceSchema.parse({ apiVersion: 'pawl.dev/v1', kind: 'DataSource', metadata: { app: 'demo', name }, spec });
const sources: Record<string, () => DataSource['spec']> = {
  warehouse: () => ({ postgres: { url: '${secret:WAREHOUSE}' } }),
  listed: () => ({ postgres: { url: '${secret:WAREHOUSE}' }, tables: ['public.orders', 'public.big_orders'] }),
  absent: () => ({ postgres: { url: 'postgres://a:b@127.0.0.1:1/x' } }),
  metadata: () => ({ postgres: { url: 'postgres://a:b@169.254.169.254:5432/x' } }),
  elsewhere: () => ({ postgres: { url: 'postgres://a:b@93.184.216.34/x?host=10.0.0.1' } }),
  beside: () => ({ postgres: { url: 'postgres://a:b@93.184.216.34/x?host=/var/run/postgresql' } }),
  secretless: () => ({ postgres: { url: '${secret:ABSENT}' } }),
};
const kind = createSqlKind({
  sources: createSqlSources({
    find: (_app, name) => {
      const spec = sources[name]?.();
      return spec && { revision: name, object: sourceOf(spec, name) };
    },
    secrets: () => (name) => (name === 'WAREHOUSE' ? url : undefined),
    targets: createTargets(['127.0.0.1']),
    connectionsMax: 3,
  }),
  resultBytesMax: 200_000,
});
const parameters = (...names: string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, {}])),
});
const fixed = (query: string, more: Record<string, unknown> = {}) =>
  toolOf({ sql: { source: 'warehouse', query, ...more } });
const free = (source = 'warehouse') => toolOf({ sql: { source, queryArgument: 'sql' }, parameters: parameters('sql') });
const run = (sql: string, source?: string) => callKind(kind, { tool: free(source), args: JSON.stringify({ sql }) });

beforeAll(async () => {
  const database = await createTestDatabase(inject('postgresUrl'));
  url = database.url;
  drop = database.drop;
  admin = new pg.Client({ connectionString: url });
  await admin.connect();
  await admin.query(`
    create table orders (id bigint primary key, day date, at timestamptz, amount numeric, customer text, tags text[]);
    insert into orders values
      (9007199254740993, '2026-02-15', '2026-02-15 10:00:00+00', 3000000.10, 'A', '{x,"y z"}'),
      (2, '2026-03-01', null, 1, 'B', null);
    create view big_orders as select * from orders where amount > 100;
    create table secret (word text);
    insert into secret values ('sesame');
    create function peek() returns text language sql stable as 'select word from secret';
  `);
});
afterAll(async () => {
  await kind.close();
  await admin.end();
  await drop();
});

async function countOfRunning(marker: string): Promise<number> {
  const { rows } = await admin.query<{ count: string }>(
    `select count(*) from pg_stat_activity where state = 'active' and query like $1 and pid <> pg_backend_pid()`,
    [`%${marker}%`],
  );
  return Number(rows[0]?.count);
}

describeKind(
  'sql',
  () => ({
    kind,
    working: {
      tool: toolOf({
        sql: { source: 'warehouse', query: 'select customer, day from orders where day >= :from order by day' },
        parameters: parameters('from'),
      }),
      args: '{"from":"2026-02-01"}',
      data: {
        rowCount: 2,
        columns: ['customer', 'day'],
        rows: [
          { customer: 'A', day: '2026-02-15' },
          { customer: 'B', day: '2026-03-01' },
        ],
      },
    },
    exact: { tool: fixed('select id from orders where id = :id'), args: '{"id":9007199254740993}' },
    endless: {
      tool: fixed('select pg_sleep(600) /* endless */'),
      args: '{}',
      isUnderWay: async () => (await countOfRunning('/* endless */')) === 1,
      isReleased: async () => (await countOfRunning('/* endless */')) === 0,
    },
    unreachable: { tool: toolOf({ sql: { source: 'absent', query: 'select 1' } }), args: '{}' },
    forbidden: { tool: toolOf({ sql: { source: 'metadata', query: 'select 1' } }), args: '{}' },
    withoutSecret: { tool: toolOf({ sql: { source: 'secretless', query: 'select 1' } }), args: '{}' },
    tooLarge: { tool: fixed(`select repeat('x', 5000000) as x`), args: '{}' },
    refused: [
      fixed('select :undeclared'),
      toolOf({ sql: { source: 'warehouse', queryArgument: 'sql' } }),
      toolOf({ sql: { source: 'warehouse', query: 'select 1' }, effect: 'write' }),
    ],
  }),
  ['exact', 'endless', 'unreachable', 'forbidden', 'withoutSecret', 'tooLarge'],
);

describe('values', () => {
  test('come as JSON, exact', async () => {
    const sql = `select id, amount, at, tags, null as nothing, true as yes, '{"a": 1.10}'::jsonb as doc, 'NaN'::numeric as nan,
      array[[1,2],[3,4]]::int8[] as grid, 'infinity'::date as never, interval '1 day 2 hours' as span, 1.5::float8 as half
      from orders where customer = 'A'`;
    const data = dataOf(await run(sql));
    expect(data).toContain(
      '{"id":9007199254740993,"amount":3000000.10,"at":"2026-02-15T10:00:00Z","tags":["x","y z"],"nothing":null,"yes":true,' +
        '"doc":{"a":1.10},"nan":"NaN","grid":[[1,2],[3,4]],"never":"infinity","span":"P1DT2H","half":1.5}',
    );
  });

  test('columns of the same name are all kept', async () => {
    expect(JSON.parse(dataOf(await run('select 1 as a, 2 as a')))).toMatchObject({
      columns: ['a', 'a_2'],
      rows: [{ a: 1, a_2: 2 }],
    });
  });

  test('arguments are bound, never pasted; those not given are null', async () => {
    const query = `select :word as word, :list::text[] as list, :count::int as count, :gone::text is null as gone, :doc::jsonb as doc`;
    const args = { word: `'; drop table orders; --`, list: ['a', `b'"`], count: 3, doc: { k: [1] } };
    const data = dataOf(await callKind(kind, { tool: fixed(query), args: JSON.stringify(args) }));
    expect(JSON.parse(data)).toMatchObject({ rows: [{ ...args, gone: true }] });
  });

  test('reading stops at the row cap and says so', async () => {
    const tool = fixed('select n from generate_series(1, 5000) n', { rowsMax: 120 });
    const outcome = await callKind(kind, { tool, args: '{}' });
    expect(JSON.parse(dataOf(outcome))).toMatchObject({ rowCount: 120 });
    expect(outcome).toMatchObject({ incomplete: expect.stringContaining('only the first 120 rows') });
    const all = fixed('select n from generate_series(1, 120) n', { rowsMax: 120 });
    expect(await callKind(kind, { tool: all, args: '{}' })).not.toHaveProperty('incomplete');
  });
});

test.each(['metadata', 'elsewhere', 'beside'])('C19: the database %s may not be reached', async (source) => {
  expect(await run('select 1', source)).toMatchObject({ code: 'target_not_allowed', effect: 'none' });
});

describe('reading only', () => {
  test.each([
    ['insert into orders (id) values (7)', /has to be a SELECT/],
    ['select 1; drop table orders', /exactly one statement/],
    ['with d as (delete from orders returning id) select * from d', /changes data/],
    [`select set_config('transaction_read_only', 'off', true), nextval('pg_class_oid_seq')`, /./],
  ])('%s changes nothing', async (sql, message) => {
    expect(await run(sql)).toMatchObject({ kind: 'failure', message: expect.stringMatching(message) });
    const { rows } = await admin.query<{ count: string }>('select count(*) from orders');
    expect(rows[0]?.count).toBe('2');
  });

  test('a function that writes meets the read-only transaction', async () => {
    await admin.query(
      `create function sneak() returns int language sql as 'insert into orders (id) values (8) returning 1'`,
    );
    expect(await run('select sneak()')).toMatchObject({
      code: 'tool_failed',
      message: expect.stringContaining('25006'),
    });
  });

  test('locks of a session do not outlive the query', async () => {
    await run('select pg_advisory_lock(42)');
    const { rows } = await admin.query<{ count: string }>(
      `select count(*) from pg_locks where locktype = 'advisory' and objid = 42`,
    );
    expect(rows[0]?.count).toBe('0');
  });
});

describe('the list of tables', () => {
  test.each([
    'select customer from orders',
    'select count(*) from public.big_orders',
    'with o as (select * from orders) select lower(customer) from o',
  ])('allows %s', async (sql) => expect(dataOf(await run(sql, 'listed'))).toContain('rowCount'));

  test.each([
    ['select * from secret', /reads public\.secret/],
    ['select (select word from secret) from orders', /reads public\.secret/],
    ['with secret as (select * from secret) select * from secret', /reads public\.secret/],
    ['select * from pg_catalog.pg_class', /reads pg_catalog\.pg_class/],
    [`select query_to_xml('select * from secret', true, true, '')`, /function query_to_xml/],
    [`select table_to_xml('secret', true, true, '')`, /function table_to_xml/],
    ['select peek() from orders', /function peek/],
    [`select pg_read_file('/etc/passwd')`, /function pg_read_file/],
    ['select pg_sleep(1)', /function pg_sleep/],
  ])('refuses %s', async (sql, message) => {
    expect(await run(sql, 'listed')).toMatchObject({
      kind: 'failure',
      message: expect.stringMatching(message),
      effect: 'none',
    });
  });

  test('holds for fixed queries as well', async () => {
    const tool = toolOf({ sql: { source: 'listed', query: 'select * from secret where word = :word' } });
    expect(await callKind(kind, { tool, args: '{"word":"x"}' })).toMatchObject({
      message: expect.stringContaining('public.secret'),
    });
  });
});

describe('errors of the database', () => {
  test.each([
    ['select revenu from orders', '42703', 'revenu'],
    ['select * from order_items', '42P01', 'order_items'],
    [`select 'x'::date`, '22007', 'date'],
    ['select 1/0', '22012', 'zero'],
    ['select nofunc(1)', '42883', 'function'],
    ['select customer, count(*) from orders', '42803', 'customer'],
  ])('%s is one sentence', async (sql, state, word) => {
    const outcome = await run(sql);
    expect(outcome).toMatchObject({
      code: 'tool_failed',
      message: expect.stringContaining(`(SQLSTATE ${state})`),
      rawError: expect.stringContaining(state),
    });
    expect(outcome).toMatchObject({ message: expect.stringContaining(word) });
  });

  test('a query beyond the deadline is stopped by the server', async () => {
    const outcome = await callKind(
      kind,
      { tool: fixed('select pg_sleep(60)'), args: '{}' },
      { deadlineAtMs: Date.now() + 100 },
    );
    expect(outcome).toMatchObject({ code: 'tool_timeout', message: expect.stringContaining('57014') });
  });

  test('a connection is used again after an error', async () => {
    for (let at = 0; at < 10; at += 1) await run('select 1/0');
    expect(dataOf(await run('select 1 as one'))).toContain('"one":1');
  });
});
