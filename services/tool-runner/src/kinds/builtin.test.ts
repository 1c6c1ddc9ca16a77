import { describe, expect, test } from 'vitest';
import { createBuiltinKind } from './builtin.ts';
import { createResultsInMemory } from '../testing/results-in-memory.ts';
import { callKind, dataOf, describeKind, toolOf } from './kind.suite.ts';

const stored = new Map([['demo/run_1/0/0', 'abc"defghij'.repeat(500)]]);
const results = createResultsInMemory();
for (const [ref, text] of stored) keep(ref, text);

function keep(ref: string, text: string): void {
  results.stored.set(ref, { bytes: Buffer.from(text), contentType: undefined });
}

const kind = createBuiltinKind({
  results: results.store,
  now: () => Date.parse('2026-03-01T12:00:00Z'),
});
const texts = (...names: string[]) => ({
  type: 'object',
  properties: Object.fromEntries(names.map((name) => [name, {}])),
});
const calculator = toolOf({ builtin: { name: 'calculator' }, parameters: texts('expression') });
const currentTime = toolOf({ builtin: { name: 'current_time' }, parameters: texts('timeZone') });
const readResult = toolOf({ builtin: { name: 'read_result' }, parameters: texts('ref', 'offset', 'limit') });

describeKind(
  'builtin',
  () => ({
    kind,
    working: {
      tool: calculator,
      args: '{"expression":"248.50 * 100"}',
      data: { expression: '248.50 * 100', result: 24_850 },
    },
    exact: { tool: calculator, args: '{"expression":"9007199254740993"}' },
    refused: [
      toolOf({ builtin: { name: 'calculator' } }),
      toolOf({ builtin: { name: 'current_time' }, effect: 'write' }),
      toolOf({ builtin: { name: 'read_result' }, parameters: texts('reference') }),
    ],
  }),
  ['exact'],
);

describe('built-in tools', () => {
  test('the present time has its zone and weekday', async () => {
    const data = dataOf(await callKind(kind, { tool: currentTime, args: '{"timeZone":"America/Sao_Paulo"}' }));
    expect(JSON.parse(data)).toEqual({
      utc: '2026-03-01T12:00:00.000Z',
      timeZone: 'America/Sao_Paulo',
      local: '2026-03-01T09:00:00-03:00',
      date: '2026-03-01',
      weekday: 'Sunday',
    });
    expect(dataOf(await callKind(kind, { tool: currentTime, args: '{}' }))).toContain('"local":"2026-03-01T12:00:00Z"');
    const wrong = await callKind(kind, { tool: currentTime, args: '{"timeZone":"Mars/Base"}' });
    expect(wrong).toMatchObject({ code: 'invalid_arguments', message: expect.stringContaining('Mars/Base') });
  });

  test('a result can be read page by page, and the pages make the whole', async () => {
    const whole = stored.get('demo/run_1/0/0') ?? '';
    let text = '';
    let offset: number | null = 0;
    for (let pages = 0; offset !== null; pages += 1) {
      expect(pages).toBeLessThan(20);
      const args = JSON.stringify({ ref: 'demo/run_1/0/0', offset });
      const data = dataOf(await callKind(kind, { tool: readResult, args }, { runId: 'run_1', maxChars: 1_000 }));
      expect(data.length).toBeLessThanOrEqual(1_000);
      const page = JSON.parse(data) as { text: string; nextOffset: number | null; totalChars: number };
      expect(page.totalChars).toBe(whole.length);
      text += page.text;
      offset = page.nextOffset;
    }
    expect(text).toBe(whole);
  });

  describe('a result in parts', () => {
    const read = async (ref: string, more: Record<string, unknown>, maxChars = 1_000) => {
      const args = JSON.stringify({ ref: `demo/run_1/0/${ref}`, ...more });
      return await callKind(kind, { tool: readResult, args }, { runId: 'run_1', maxChars });
    };
    const parsed = async (ref: string, more: Record<string, unknown>) =>
      JSON.parse(dataOf(await read(ref, more))) as unknown;
    const rows = Array.from({ length: 300 }, (_unused, at) => `{"n":${at},"id":9007199254740993}`);
    keep('demo/run_1/0/8', `{"rowCount":300,"columns":["n","id"],"rows":[${rows.join(',')}]}`);
    keep('demo/run_1/0/9', JSON.stringify(['first', 'second', 'x'.repeat(5_000)].join('\r\n')));

    test('O1: row by row, digit for digit, and the pages make the whole', async () => {
      const seen: string[] = [];
      let row: number | null = 0;
      while (row !== null) {
        const data = dataOf(await read('8', { row }));
        expect(data.length).toBeLessThanOrEqual(1_000);
        seen.push(...data.matchAll(/\{"n":\d+,"id":9007199254740993\}/g).map(([text]) => text));
        row = (JSON.parse(data) as { nextRow: number | null }).nextRow;
      }
      expect(seen).toEqual(rows);
      expect(await parsed('8', { row: 7, limit: 1 })).toMatchObject({
        row: 7,
        totalRows: 300,
        nextRow: 8,
        rows: [{ n: 7 }],
      });
    });

    test('O1: by a path into JSON', async () => {
      expect(await parsed('8', { path: '/rows/299/n' })).toMatchObject({ text: '299', nextOffset: null });
      expect(await parsed('8', { path: '/columns', row: 1 })).toMatchObject({ rows: ['id'] });
      expect(await read('8', { path: '/rows/300' })).toMatchObject({ code: 'invalid_arguments' });
    });

    test('O1: a plain text has the lines that it has, whatever their ends', async () => {
      keep('demo/run_1/0/9/text', `a"b\r\n${'\n'.repeat(60)}last ü`);
      expect(await parsed('9/text', { line: 0 })).toMatchObject({
        totalLines: 62,
        lines: ['a"b', ...Array(60).fill(''), 'last ü'],
      });
      expect(await parsed('9/text', { line: 61, limit: 1 })).toMatchObject({ nextLine: null, lines: ['last ü'] });
    });

    test('O1: line by line', async () => {
      expect(await parsed('9', { line: 0, limit: 2 })).toMatchObject({
        totalLines: 3,
        nextLine: 2,
        lines: ['first', 'second'],
      });
      expect(await read('9', { line: 2 })).toMatchObject({ message: expect.stringContaining('longer than') });
      expect(await read('9', { line: 3 })).toMatchObject({ code: 'invalid_arguments' });
      expect(await read('8', { line: 0 })).toMatchObject({ message: expect.stringContaining('not a text') });
      expect(await read('9', { row: 0 })).toMatchObject({ message: expect.stringContaining('not a list') });
    });
  });

  test('a result of another run or app is not there', async () => {
    const call = { tool: readResult, args: '{"ref":"demo/run_1/0/0"}' };
    const answers = await Promise.all([
      callKind(kind, call, { runId: 'run_2' }),
      callKind(kind, call, { runId: 'run_1', app: 'other' }),
      callKind(kind, call),
      callKind(kind, { tool: readResult, args: '{"ref":"demo/run_1/9/9"}' }, { runId: 'run_1' }),
    ]);
    for (const answer of answers) {
      expect(answer).toMatchObject({ code: 'invalid_arguments', message: expect.stringContaining('in this run') });
    }
  });
});
