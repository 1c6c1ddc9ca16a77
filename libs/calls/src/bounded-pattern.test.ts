import { describe, expect, test } from 'vitest';
import { boundedPattern } from './bounded-pattern.ts';

describe('C4: shipped patterns can not take more than linear time', () => {
  test.each(['a*', '(a|b)+', 'a{2,}', String.raw`\s*x`, '[a-z]+?', '.*'])('%s is refused', (pattern) =>
    expect(() => boundedPattern(pattern)).toThrow('without a bound'),
  );

  test.each([String.raw`a\*`, '[*+]{0,40}', 'a?', 'a{2}', String.raw`\{1,\}`, String.raw`[\]*]x`])(
    '%s is taken',
    (pattern) => expect(boundedPattern(pattern)).toBeInstanceOf(RegExp),
  );

  test('flags are added', () => expect(boundedPattern('straße', 'i').test('STRAßE')).toBe(true));
});
