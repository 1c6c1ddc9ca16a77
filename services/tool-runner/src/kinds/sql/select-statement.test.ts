import { beforeAll, describe, expect, test } from 'vitest';
import { loadSqlParser, parseSelect } from './select-statement.ts';

beforeAll(() => loadSqlParser());

function tablesOf(sql: string): string[] {
  const parsed = parseSelect(sql);
  if ('failure' in parsed) throw new Error(parsed.failure.message);
  return parsed.statement.tables
    .map(({ schema, name }) => (schema === undefined ? name : `${schema}.${name}`))
    .toSorted();
}

describe('names in a SELECT', () => {
  test.each([
    ['select * from a join s.b using (id), "C"', ['C', 'a', 's.b']],
    ['select (select max(x) from hidden) from a where exists (select 1 from b)', ['a', 'b', 'hidden']],
    ['with t as (select * from a) select * from t', ['a']],
    ['with secret as (select * from secret) select * from secret', ['secret']],
    ['with a as (select 1), b as (select * from a) select * from b', []],
    ['with b as (select * from a), a as (select 1) select * from b', ['a']],
    ['with recursive t as (select 1 union all select * from t) select * from t', []],
    ['with t as (select 1) select * from public.t', ['public.t']],
    ['select * from (with t as (select 1) select * from t) x, t', ['t']],
    ['select 1 union select x from a order by (select y from b)', ['a', 'b']],
    ['table a', ['a']],
    ['values ((select x from a))', ['a']],
    ['select * from a, lateral (select * from b) q', ['a', 'b']],
  ])('%s', (sql, tables) => {
    expect(tablesOf(sql)).toEqual(tables);
  });

  test.each([
    ['select 1; select 2', /exactly one statement/],
    [' ', /is empty/],
    ['-- nothing', /exactly one statement|syntax error/],
    ['delete from a', /has to be a SELECT/],
    ['set role admin', /has to be a SELECT/],
    ['copy a to program $$id$$', /has to be a SELECT/],
    ['do $$ begin end $$', /has to be a SELECT/],
    ['with d as (delete from a returning *) select * from d', /changes data/],
    ['select * into b from a', /SELECT INTO/],
    ['select * from a for update', /locks rows/],
    ['select * form a', /syntax error at character/],
  ])('refuses %s', (sql, message) => {
    expect(parseSelect(sql)).toMatchObject({ failure: { message: expect.stringMatching(message) } });
  });

  test('SQL that is nested beyond measure is refused, and the parser goes on', () => {
    expect(parseSelect(`select ${'('.repeat(50_000)}`)).toHaveProperty('failure');
    expect(tablesOf('select * from a')).toEqual(['a']);
  });
});
