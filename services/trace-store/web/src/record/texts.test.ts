import { describe, expect, test } from 'vitest';
import { ExactNumber, parseExact, printExact } from './exact-json.ts';
import { keyFiguresOf } from './key-figures.ts';
import { inlineParts, proseBlocks } from './prose-blocks.ts';
import { createEventParser } from './server-sent-events.ts';
import { skillStepsOf } from './skill-steps.ts';
import { chartOf, tableOf } from './table.ts';
import { thoughtParts } from './thought-parts.ts';

describe('a guided thought', () => {
  test('is read in its parts, also in Chinese and Portuguese', () => {
    expect(thoughtParts('Known: a\nmore\nMissing: b\nNext: c')).toEqual([
      { name: 'known', text: 'a\nmore' },
      { name: 'missing', text: 'b' },
      { name: 'next', text: 'c' },
    ]);
    expect(thoughtParts('**Sabido:** a\n**Falta:** b')?.map(({ text }) => text)).toEqual(['a', 'b']);
    expect(thoughtParts('已知：a\n下一步：c')?.map(({ name }) => name)).toEqual(['known', 'next']);
  });

  test('that is written otherwise is left as it is', () => {
    expect(thoughtParts('I know enough.\nKnown: a\nNext: b')).toBeUndefined();
    expect(thoughtParts('')).toBeUndefined();
  });
});

describe('prose', () => {
  test('knows headings, lists, code and bold, and nothing else', () => {
    expect(proseBlocks('# T\n- a\n- b\n1. c\n```\nx\n```\n[l](javascript:alert(1))')).toEqual([
      { kind: 'heading', text: 'T' },
      { kind: 'list', isNumbered: false, items: ['a', 'b'] },
      { kind: 'list', isNumbered: true, items: ['c'] },
      { kind: 'code', text: 'x' },
      { kind: 'paragraph', text: '[l](javascript:alert(1))' },
    ]);
    expect(inlineParts('a **b** `c`').map(({ kind }) => kind)).toEqual(['text', 'strong', 'text', 'code']);
  });
});

describe('server-sent events', () => {
  test('come through cut at every place', () => {
    const text = ': hello\n\nid: 7\nevent: thought\ndata: {"a":\ndata: 1}\n\nevent: delta\r\ndata: x\r\n\r\n';
    for (let cut = 0; cut <= text.length; cut++) {
      const parse = createEventParser();
      expect([...parse(text.slice(0, cut)), ...parse(text.slice(cut))]).toEqual([
        { id: '7', name: 'thought', data: '{"a":\n1}' },
        { id: undefined, name: 'delta', data: 'x' },
      ]);
    }
  });
});

describe('a chart', () => {
  const chart = (json: string) => {
    const table = tableOf(parseExact(json) ?? null);
    return table && chartOf(table);
  };

  test('of months is a series in their order', () => {
    const rows = '[{"month":"2026-02","value":3},{"month":"2026-01","value":2},{"month":"2025-12","value":1}]';
    expect(chart(rows)).toMatchObject({
      kind: 'series',
      column: 'value',
      points: [{ value: 1 }, { value: 2 }, { value: 3 }],
    });
  });

  test('of a breakdown draws its change', () => {
    const rows =
      '[{"key":"C","a":9,"change":-5,"change_pct":-42},{"key":"A","a":6,"change":0,"change_pct":0},{"key":"B","a":1,"change":1,"change_pct":9}]';
    expect(chart(rows)).toEqual({ kind: 'bars', column: 'change', values: [-5, 0, 1] });
  });

  test.each([
    ['two rows', '[{"k":"a","v":1},{"k":"b","v":2}]'],
    ['numbers that are names', '[{"k":"a","order_id":1},{"k":"b","order_id":2},{"k":"c","order_id":3}]'],
    ['a part of the rows', '{"rows":[{"k":"a","v":1},{"k":"b","v":2},{"k":"c","v":2}],"rowsLeftOut":90}'],
  ])('is not drawn of %s', (_what, json) => expect(chart(json)).toBeUndefined());
});

describe('a table', () => {
  const table = (json: string) => tableOf(parseExact(json) ?? null);

  test('that was cut says how many rows are not there, whether it stood alone or not', () => {
    expect(table('[{"a":1},"… 18 items left out …",{"a":20}]')).toMatchObject({ leftOut: 18, count: 20 });
    expect(table('{"rows":[{"a":1},{"a":9}],"rowsLeftOut":7}')).toMatchObject({ leftOut: 7, count: 9 });
    expect(table('["… 18 items left out …"]')).toBeUndefined();
  });

  test('of lists has the names of its columns, also where those are told with their types', () => {
    const rows = [{ day: '2026-01-10', value: new ExactNumber('9007199254740993') }];
    expect(table('{"columns":["day","value"],"rows":[["2026-01-10",9007199254740993]]}')?.rows).toEqual(rows);
    expect(
      table('{"columns":[{"name":"day"},{"name":"value"}],"rows":[["2026-01-10",9007199254740993]]}')?.rows,
    ).toEqual(rows);
  });

  test('keeps what is said beside its rows', () => {
    expect(table('{"currency":"CNY","rows":[{"a":1}]}')?.rest).toEqual({ currency: 'CNY' });
    expect(table('[{"a":1}]')?.rest).toEqual({});
  });
});

test('the result of a skill is what its steps came to', () => {
  const steps = (json: string) => skillStepsOf(parseExact(json) ?? null);
  const found = steps(
    '{"steps":[{"name":"cpu","tool":"query_metrics","status":"ok","args":{"host":"db1"},"data":[{"v":9007199254740993}]},{"name":"owner","tool":"find_owner","status":"skipped"}]}',
  );
  expect(found).toMatchObject([
    { name: 'cpu', tool: 'query_metrics', status: 'ok', args: { host: 'db1' } },
    { name: 'owner', status: 'skipped', args: undefined, data: undefined },
  ]);
  expect(String(found?.[0]?.data && printExact(found[0].data))).toContain('9007199254740993');
  for (const other of ['{"steps":[]}', '{"steps":[{"name":"a"}]}', '{"steps":3}', '{"steps":[],"more":1}', '[]']) {
    expect(steps(other)).toBeUndefined();
  }
});

describe('key figures', () => {
  const figures = (json: string) => keyFiguresOf(parseExact(json) ?? null);

  test('are what changed most, totals, the most frequent, and samples', () => {
    const found = figures(`{"rowCount":16,"columns":[
      {"name":"month","distinct":2,"top":[{"value":"2026-01","count":8}]},
      {"name":"day","distinct":16,"first":"2026-01-01","last":"2026-02-08"},
      {"name":"revenue","total":1558,"average":97.375,"min":58,"max":100}],
      "biggestChanges":[{"line":"C","column":"revenue","from":{"month":"2026-01","value":100},"to":{"month":"2026-02","value":58},"change":-42,"percent":-42}],
      "samples":[{"line":"A"}]}`);
    expect(found).toMatchObject({
      count: 16,
      texts: [
        { name: 'month', distinct: '2', top: [{ value: '2026-01', count: '8' }], range: [] },
        { name: 'day', distinct: '16', top: [], range: ['2026-01-01', '2026-02-08'] },
      ],
    });
    expect(found?.numbers?.rows.map(({ name }) => name)).toEqual(['revenue']);
    expect(found?.changes?.columns.map(({ name }) => name)).toEqual([
      'line',
      'column',
      '2026-01',
      '2026-02',
      'change',
      'change_pct',
    ]);
    expect(found?.samples?.count).toBe(1);
  });

  test.each([
    ['a table', '{"rowCount":1,"columns":["a"],"rows":[{"a":1}]}'],
    ['something else with columns', '{"rowCount":1,"columns":[{"name":"a","type":"text"}]}'],
    ['figures with more than is known', '{"rowCount":1,"columns":[{"name":"a","total":1}],"note":"x"}'],
  ])('are not seen in %s', (_what, json) => expect(figures(json)).toBeUndefined());
});
