import { describe, expect, test } from 'vitest';
import { ExactNumber, parseExact, printExact } from './exact-json.ts';
import {
  columnFormat,
  costOfNano,
  formatAge,
  formatCost,
  formatDuration,
  formatShort,
  formatSize,
  groupDigits,
  isolated,
  readableName,
  visibleText,
} from './format.ts';

describe('numbers', () => {
  test.each([
    ['9007199254740993', '9,007,199,254,740,993'],
    ['-3500000.50', '−3,500,000.50'],
    ['0.000001234', '0.000001234'],
    ['12', '12'],
    ['-1.5e+300', '−1.5e+300'],
  ])('%s keeps its digits as %s', (text, shown) => expect(groupDigits(text)).toBe(shown));

  test('are grouped as the language does', () => {
    expect(groupDigits('-3500000.50', 'pt')).toBe('−3.500.000,50');
    expect(groupDigits('-3500000.50', 'zh')).toBe('−3,500,000.50');
  });

  test('of one column stand point below point', () => {
    const format = columnFormat('change_pct', ['-42', '-0.25', '0.1']);
    expect(['-42', '-0.25', '0.1'].map((text) => format(text))).toEqual([
      '−42\u2008\u2007\u2007',
      '−0.25',
      '0.1\u2007',
    ]);
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
    expect(printExact(parseExact(text) ?? null).replaceAll(/\s/g, '')).toBe(text);
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
    ['1', '< $0.0001'],
    ['400000000', '$0.40'],
    ['1234567890000', '$1,234.57'],
  ])('%s nano-USD reads %s', (nano, shown) => expect(formatCost(costOfNano(nano))).toBe(shown));

  test('money says its currency in every language', () => {
    const cost = costOfNano('1234567890000');
    expect(formatCost(cost, 'pt').replaceAll(/\s/g, ' ')).toBe('US$ 1.234,57');
    expect(formatCost(cost, 'zh')).toBe('US$1,234.57');
    expect(formatCost(undefined)).toBe('–');
  });

  test.each([
    [38, '38 ms'],
    [3_220, '3.2 s'],
    [125_000, '2 min 5 s'],
    [11_400_000, '3 h 10 min'],
    [400_000_000, '4 d 15 h'],
    [null, '–'],
  ])('%s ms reads %s', (durationMs, shown) => expect(formatDuration(durationMs)).toBe(shown));

  test.each([
    [640, 'en', '640 byte'],
    [2_400, 'en', '2.4 kB'],
    [2_000_000, 'en', '2 MB'],
    [2_400_000, 'pt', '2,4 MB'],
  ] as const)('%s bytes read in %s as %s', (bytes, language, shown) => expect(formatSize(bytes, language)).toBe(shown));

  test('ages are told in words', () => {
    const nowMs = Date.parse('2026-03-02T12:00:00Z');
    const at = ['2026-03-02T11:59:50Z', '2026-03-02T11:55:00Z', '2026-03-02T09:00:00Z', '2026-03-01T12:00:00Z'];
    expect(at.map((each) => formatAge(each, nowMs))).toEqual(['now', '5 minutes ago', '3 hours ago', 'yesterday']);
    expect(formatAge('2026-03-02T13:00:00Z', nowMs, 'pt')).toBe('em 1 hora');
  });
});

test('what could deceive the eye is made visible', () => {
  expect(visibleText('\u001b[31mred\u202Etxt.exe\u0000')).toBe('␛[31mred⟨U+202E⟩txt.exe␀');
  expect(visibleText('pay\u200bpal\u2066x')).toBe('pay⟨U+200B⟩pal⟨U+2066⟩x');
  expect(visibleText('two\r\nlines\tand a tab')).toBe('two\nlines\tand a tab');
  expect(readableName('change_pct')).toBe('change %');
  expect(['product-line', '2026-01', 'x_-1'].map(readableName)).toEqual(['product line', '2026-01', 'x -1']);
});

test('labels of drawings are short, as the language has it', () => {
  const shown = (['en', 'zh', 'pt'] as const).map((language) => formatShort(16_400_000, language));
  expect(shown.map((text) => text.replaceAll(/\s/g, ' '))).toEqual(['16.4M', '1640万', '16,4 mi']);
});

test('money is shown in its own currency', () => {
  expect(formatCost({ amount: '1250.5', currency: 'BRL' }, 'pt').replaceAll(/\s/g, ' ')).toBe('R$ 1.250,50');
  expect(formatCost({ amount: '3.20', currency: 'CNY' })).toBe('CN¥3.20');
});

test('a name that runs from the right is set apart in a sentence', () => {
  expect(isolated('سارة')).toBe('\u2068سارة\u2069');
  expect(isolated('Ana 王')).toBe('Ana 王');
});
