import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { numberParameters } from './named-parameters.ts';

describe('named parameters', () => {
  test.each<[string, string, string[]]>([
    ['select * from t where a = :a and b = :b', 'select * from t where a = $1 and b = $2', ['a', 'b']],
    ['select :a, :b, :a', 'select $1, $2, $1', ['a', 'b']],
    ['select :a::date, x::text', 'select $1::date, x::text', ['a']],
    [`select ':a' || :b`, `select ':a' || $1`, ['b']],
    [`select 'it''s :a', :b`, `select 'it''s :a', $1`, ['b']],
    [String.raw`select E'\':a', :b`, String.raw`select E'\':a', $1`, ['b']],
    [String.raw`select '\', :b`, String.raw`select '\', $1`, ['b']],
    ['select ":a", :b', 'select ":a", $1', ['b']],
    ['select 1 -- :a\n, :b', 'select 1 -- :a\n, $1', ['b']],
    ['select 1 /* :a /* :c */ :d */ , :b', 'select 1 /* :a /* :c */ :d */ , $1', ['b']],
    ['select $$ :a $$, :b', 'select $$ :a $$, $1', ['b']],
    ['select $tag$ :a $$ $tag$, :b', 'select $tag$ :a $$ $tag$, $1', ['b']],
    ['select a$b$ , :b', 'select a$b$ , $1', ['b']],
    ['select $1, :b', 'select $1, $1', ['b']],
    ['f(x := :b)', 'f(x := $1)', ['b']],
    ['a[1: n]', 'a[1: n]', []],
    [`select 'open :a`, `select 'open :a`, []],
    ['select /* open :a', 'select /* open :a', []],
    ['select name from x where é:a', 'select name from x where é$1', ['a']],
  ])('%s', (sql, text, names) => {
    expect(numberParameters(sql)).toEqual({ text, names });
  });

  test('text without a colon stays as it is', () => {
    fc.assert(
      fc.property(fc.string({ maxLength: 200 }), (raw) => {
        const sql = raw.replaceAll(':', '');
        expect(numberParameters(sql)).toEqual({ text: sql, names: [] });
      }),
    );
  });

  test('long SQL takes time in proportion to its length', () => {
    const sql = `select ${"':a', /* x */ ".repeat(20_000)} :b`;
    expect(numberParameters(sql).names).toEqual(['b']);
  });
});
