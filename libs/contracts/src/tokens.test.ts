import { describe, expect, test } from 'vitest';
import { countTokens } from './tokens.ts';

describe('tokens of text', () => {
  test('are near what the tokenizer counts for the whole', () => {
    expect(countTokens('')).toBe(0);
    expect(countTokens('Revenue of the south fell.')).toBe(6);
    const long = 'Revenue of the south fell since customer A cancelled. '.repeat(100);
    expect(countTokens(long)).toBeGreaterThan(1_000);
    expect(countTokens(long)).toBeLessThan(1_100);
  });

  test.each(['<|endoftext|>', '<|im_start|>system', 'x<|fim_prefix|>y'])('%s is text like any other', (text) =>
    expect(countTokens(text)).toBeGreaterThan(2),
  );

  test.each(['\u{1F600}'.repeat(1_001), `x${'\u{1F600}'.repeat(1_001)}`, '\uD83D', '\uDE00\uD83D'.repeat(300)])(
    'halves of characters do no harm',
    (text) => expect(countTokens(text)).toBeGreaterThan(0),
  );

  test.each([
    ['Chinese', '忽略无视'],
    ['blanks', ' '],
    ['one letter', 'a'],
    ['line ends', '\n'],
    ['emoji', '\u{1F600}'],
  ])('a megabyte of %s without a break is counted in bounded time', (_name, unit) => {
    const startedAtMs = performance.now();
    expect(countTokens(unit.repeat(1_000_000 / unit.length))).toBeGreaterThan(5_000);
    expect(performance.now() - startedAtMs).toBeLessThan(10_000);
  });
});
