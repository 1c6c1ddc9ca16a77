import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  durationMs,
  durationSchema,
  isJson,
  isoTimeSchema,
  objectNameSchema,
  runIdSchema,
  sha256Schema,
  signalIdSchema,
  timeoutSchema,
  toolNameSchema,
} from './names.ts';

const tokens = {
  objectNameSchema,
  toolNameSchema,
  runIdSchema,
  signalIdSchema,
  sha256Schema,
};

const hostile = [
  '',
  'a.b',
  'a.>',
  '*',
  '>',
  'a b',
  ' a',
  'a\n',
  'a\t',
  'a\0',
  '../etc/passwd',
  'a/b',
  'a\\b',
  'a%2eb',
  'a:b',
  '${secret:X}',
  '$JS',
  'naïve',
  'аgent', // Cyrillic а
  'agent\u200b', // zero-width space
  '\u202etnega', // right-to-left override
  'سلام',
  '指标',
  '🦊',
  'a'.repeat(5_000),
];

describe.each(Object.entries(tokens))('%s', (_, schema) => {
  test.each(hostile)('refuses %j', (text) => {
    expect(schema.safeParse(text).success).toBe(false);
  });

  test('takes only what is a single token in subjects, KV keys and URLs', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.string({ maxLength: 5 }),
          fc.stringMatching(/^[a-z0-9_.* >-]{1,70}$/),
        ),
        (text) => {
          const isToken = /^[A-Za-z0-9_-]+$/.test(text) && encodeURIComponent(text) === text;
          return isToken || !schema.safeParse(text).success;
        },
      ),
    );
  });
});

test.each(['a', 'demo', 'sales-analyst', '0x', 'a'.repeat(63)])('%s names an object', (name) => {
  expect(objectNameSchema.parse(name)).toBe(name);
});

test.each(['Upper', '-a', '_a', 'a'.repeat(64)])('%s names no object', (name) => {
  expect(objectNameSchema.safeParse(name).success).toBe(false);
});

test.each(['execute_sql', 'Refund', '-x', '9', 'a'.repeat(64)])('%s names a tool', (name) => {
  expect(toolNameSchema.parse(name)).toBe(name);
});

describe('durations', () => {
  test.each([
    ['1ms', 1],
    ['120s', 120_000],
    ['5m', 300_000],
    ['24h', 86_400_000],
    ['3650d', 315_360_000_000],
  ])('%s is %d ms', (text, ms) => {
    expect(durationMs(durationSchema.parse(text))).toBe(ms);
  });

  test.each([
    '',
    '0s',
    '05s',
    '-1s',
    '1.5s',
    '1e3s',
    '1 s',
    '1s ',
    '1S',
    's',
    '120',
    '1w',
    '٣s',
    '1s1m',
    '9999999999s',
  ])('%j is none', (text) => {
    expect(durationSchema.safeParse(text).success).toBe(false);
    expect(timeoutSchema.safeParse(text).success).toBe(false);
  });

  test.each(['3651d', '999999999d', '999999999h'])('%s is too long to be added to a date', (text) => {
    expect(durationSchema.safeParse(text).error?.issues[0]?.message).toBe('must be at most 3650d');
  });

  test('a timeout is at most what a timer holds', () => {
    expect(durationMs(timeoutSchema.parse('24d'))).toBeLessThan(2 ** 31);
    expect(timeoutSchema.safeParse('25d').success).toBe(false);
  });

  test.each(['', '1', '1w', '1.5s', 'xs'])('%j has no milliseconds', (text) => {
    expect(() => durationMs(text)).toThrow(TypeError);
  });
});

test.each(['2026-03-02T08:00:00.000Z', new Date(0).toISOString()])('%s is a time', (text) => {
  expect(isoTimeSchema.parse(text)).toBe(text);
});

test.each(['2026-03-02', '2026-03-02T08:00:00.000', '2026-03-02T08:00:00+02:00', '2026-02-30T08:00:00.000Z', 'now'])(
  '%s is no time in UTC',
  (text) => {
    expect(isoTimeSchema.safeParse(text).success).toBe(false);
  },
);

test('JSON text of any depth is recognised', () => {
  const deep = '['.repeat(50_000) + ']'.repeat(50_000);
  expect(isJson(deep)).toBe(true);
  expect(isJson(deep.slice(1))).toBe(false);
  expect(isJson('{"a":1,}')).toBe(false);
});
