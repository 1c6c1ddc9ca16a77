import { expect, test } from 'vitest';
import fc from 'fast-check';
import { repeatsIn, type SpanPlace } from './repeats.ts';

type Told = { tokens?: number; tool?: string };

function span(kind: SpanPlace['kind'], path: string, { tokens, tool }: Told = {}): SpanPlace {
  const [parent] = /^.*(?=\/)/.exec(path) ?? [null];
  const [inputTokens, outputTokens] = tokens === undefined ? [null, null] : [tokens, 1];
  return { kind, spanId: path, parentSpanId: parent, tool: tool ?? null, inputTokens, outputTokens };
}

test.each<[string, SpanPlace[], string[]]>([
  [
    'one model call told by two libraries',
    [span('thought', 'a', { tokens: 9 }), span('thought', 'a/b', { tokens: 9 })],
    ['a'],
  ],
  ['a library below that tells no tokens', [span('thought', 'a', { tokens: 9 }), span('thought', 'a/b')], ['a/b']],
  ['neither of them tells tokens', [span('thought', 'a'), span('thought', 'a/b')], ['a/b']],
  [
    'a plain span in between, and three deep',
    [
      span('thought', 'a', { tokens: 9 }),
      span('span', 'a/s'),
      span('thought', 'a/s/b'),
      span('thought', 'a/s/b/c', { tokens: 9 }),
    ],
    ['a', 'a/s/b'],
  ],
  [
    'a call that sums up several',
    [
      span('thought', 'a', { tokens: 30 }),
      span('thought', 'a/b', { tokens: 9 }),
      span('thought', 'a/c', { tokens: 19 }),
    ],
    ['a'],
  ],
  [
    'an agent inside of a tool call repeats nothing',
    [
      span('thought', 'a', { tokens: 9 }),
      span('observed', 'a/t', { tool: 'ask' }),
      span('thought', 'a/t/b', { tokens: 5 }),
    ],
    [],
  ],
  [
    'a tool call told by framework and protocol',
    [span('observed', 't', { tool: 'x' }), span('observed', 't/u', { tool: 'x' })],
    ['t/u'],
  ],
  ['a tool that calls another', [span('observed', 't', { tool: 'x' }), span('observed', 't/u', { tool: 'y' })], []],
  [
    'spans that are their own parents',
    [
      { ...span('thought', 'a'), parentSpanId: 'a' },
      { ...span('span', 'b'), parentSpanId: 'b' },
    ],
    [],
  ],
])('%s', (_what, spans, expected) => {
  fc.assert(
    fc.property(fc.shuffledSubarray(spans, { minLength: spans.length }), (order) => {
      expect([...repeatsIn(order)].toSorted((one, other) => (one < other ? -1 : 1))).toEqual(expected);
    }),
  );
});

test('spans around each other in a circle come to an end', () => {
  const spans = ['a', 'b'].map((id, at) => ({ ...span('thought', id), parentSpanId: ['b', 'a'][at] ?? null }));
  expect(repeatsIn(spans).size).toBeLessThanOrEqual(2);
});
