/** The pure parts of the page: how figures, thoughts and stories are read. */
import { describe, expect, test } from 'vitest';
import { ExactNumber, parseExact, printExact } from '../web/exact-json.js';
import {
  columnFormat,
  costOfNano,
  formatAge,
  formatCost,
  formatDuration,
  groupDigits,
  readableName,
  visibleText,
} from '../web/format.js';
import { storyOf, thoughtParts } from '../web/story.js';

describe('numbers', () => {
  test.each([
    ['9007199254740993', '9,007,199,254,740,993'],
    ['-3500000.50', '−3,500,000.50'],
    ['0.000001234', '0.000001234'],
    ['12', '12'],
    ['-1.5e+300', '−1.5e+300'],
  ])('%s keeps its digits as %s', (text, shown) => expect(groupDigits(text)).toBe(shown));

  test('of one column stand point below point', () => {
    const format = columnFormat('change_pct', ['-42', '-0.25', '0.1']);
    expect(['-42', '-0.25', '0.1'].map(format)).toEqual(['−42\u2008\u2007\u2007', '−0.25', '0.1\u2007']);
  });

  test.each([
    ['order_id', '48213'],
    ['year', '2026'],
    ['value', '2026'],
  ])('that name something are not grouped: %s', (name, text) => expect(columnFormat(name, [text])(text)).toBe(text));

  test('beyond 2^53 survive parsing and printing', () => {
    const text = '{"a":[9007199254740993,1.10],"b":{"c":"9"}}';
    const value = parseExact(text) as { a: ExactNumber[] };
    expect(value.a.map(String)).toEqual(['9007199254740993', '1.10']);
    expect(printExact(value).replaceAll(/\s/g, '')).toBe(text);
  });

  test('in text that is no JSON, or nests for ever, are no numbers', () => {
    expect(parseExact('{"a":')).toBeUndefined();
    expect(parseExact('['.repeat(200_000))).toBeUndefined();
  });
});

describe('money and time', () => {
  test.each([
    ['11061000', '$0.0111'],
    ['0', '$0'],
    ['1', 'under $0.0001'],
    ['1234567890000', '$1,234.57'],
  ])('%s nano-USD reads %s', (nano, shown) => expect(formatCost(costOfNano(nano))).toBe(shown));

  test.each([
    [38, '38 ms'],
    [3_220, '3.2 s'],
    [125_000, '2 min 5 s'],
    [11_400_000, '3 h 10 min'],
    [null, '–'],
  ])('%s ms reads %s', (durationMs, shown) => expect(formatDuration(durationMs)).toBe(shown));

  test('ages are told in words', () => {
    const nowMs = Date.parse('2026-03-02T12:00:00Z');
    const ages = ['2026-03-02T11:59:50Z', '2026-03-02T11:55:00Z', '2026-03-02T09:00:00Z', '2026-03-01T12:00:00Z'];
    expect(ages.map((at) => formatAge(at, nowMs))).toEqual(['just now', '5 minutes ago', '3 hours ago', 'yesterday']);
  });
});

test('what could deceive the eye is made visible', () => {
  expect(visibleText('\u001b[31mred\u202Etxt.exe\u0000')).toBe('␛[31mred⟨U+202E⟩txt.exe␀');
  expect(visibleText('two\r\nlines\tand a tab')).toBe('two\nlines\tand a tab');
  expect(readableName('change_pct')).toBe('change %');
});

describe('a guided thought', () => {
  test('is read in its three parts, also in Chinese and Portuguese', () => {
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

describe('a story', () => {
  const thought = {
    kind: 'thought',
    slot: 'thought.0',
    m: 0,
    step: 1,
    body: {
      calls: [
        { tool: 'a', args: '{}' },
        { tool: 'b', args: '{}' },
      ],
    },
  };
  const acted = {
    kind: 'acted',
    slot: 'acted.0',
    m: 0,
    step: 1,
    body: {
      calls: [
        { i: 0, tool: 'a', args: '{"x":1}' },
        { i: 1, tool: 'b', args: '{}' },
      ],
    },
  };
  const observed = { kind: 'observed', slot: 'observed.0.0', m: 0, i: 0, step: 1, tool: 'a' };
  const trace = (records: object[], more: object = {}) => ({
    run: { status: 'running' },
    records,
    missing: [],
    unreadable: [],
    ...more,
  });
  const states = (from: ReturnType<typeof trace>) =>
    storyOf(from).turns.map((turn: { calls: { tool?: string; state: string }[] }) =>
      turn.calls.map(({ tool, state }) => `${tool} ${state}`),
    );

  test('shows calls from the moment they are asked for', () => {
    expect(states(trace([thought]))).toEqual([['a running', 'b running']]);
    expect(states(trace([thought, acted, observed]))).toEqual([['a done', 'b running']]);
  });

  test('tells a lost result from one that runs and from one that can not be read', () => {
    const lost = { run: { status: 'ended' }, missing: ['observed.0.1'] };
    expect(states(trace([thought, acted, observed], lost))).toEqual([['a done', 'b missing']]);
    const unreadable = [{ slot: 'observed.0.1', reason: 'too_deep', sizeBytes: 9 }];
    expect(states(trace([thought, acted, observed], { unreadable }))).toEqual([['a done', 'b unreadable']]);
  });

  test('has a place for a turn of which nothing came', () => {
    const { turns } = storyOf(
      trace([thought, acted, observed], { missing: ['observed.0.1', 'thought.1', 'acted.2', 'observed.2.0'] }),
    );
    expect(
      turns.map(({ m, lost, calls }: { m: number; lost: object[]; calls: object[] }) => [m, lost.length, calls.length]),
    ).toEqual([
      [0, 0, 2],
      [1, 1, 0],
      [2, 1, 1],
    ]);
  });
});
