import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { RejectedError } from '@pawl/contracts';
import { mergeRollUps, statusOf, type RollUp } from '../record/roll-up.ts';
import { agentSpans, dialects, type Dialect } from '../testing/agent-spans.ts';
import { arrangeSpans } from './arrange-spans.ts';
import { readJsonSpans } from './json.ts';
import { readProtobufSpans } from './protobuf.ts';
import { entryOfSpan } from './span-entry.ts';
import type { OtlpSpan } from './span.ts';

const traceId = 'ab'.repeat(16);
const run = { app: 'demo', runId: `run_${'0'.repeat(32)}` };
const rollUpOf = (spans: readonly OtlpSpan[]) =>
  spans.map((span) => entryOfSpan(span, run).adds).reduce<RollUp | undefined>(mergeRollUps, undefined) as RollUp;
const storyOf = (spans: readonly OtlpSpan[]) =>
  arrangeSpans(
    spans.map((span) => entryOfSpan(span, run).record),
    { ...run, ...rollUpOf(spans) },
  );

describe('an agent run', () => {
  test.each(dialects)('of %s becomes thought, action and observation', (dialect) => {
    const story = storyOf(agentSpans(dialect, traceId));
    expect(story.map(({ slot }) => slot)).toEqual([
      'started',
      expect.stringMatching(/^span\./),
      'thought.0',
      'acted.0',
      'observed.0.0',
      'thought.1',
      'ended',
    ]);
    const bodies = story.map(({ body }) => JSON.parse(body ?? '{}') as Record<string, unknown>);
    expect(bodies[0]).toMatchObject({
      agent: { name: 'analyst' },
      input: 'How many orders were cancelled?',
      user: { id: 'ana' },
      session: 's-9',
    });
    const call = { tool: 'count_orders', args: '{"status":"cancelled"}' };
    expect(bodies[2]).toMatchObject({
      m: 0,
      text: '',
      calls: [{ id: 'call-1', ...call }],
      route: { model: 'm-1', provider: 'acme' },
    });
    expect(bodies[3]).toMatchObject({ m: 0, calls: [{ i: 0, ...call }] });
    expect(bodies[4]).toMatchObject({ m: 0, i: 0, observation: { status: 'ok', data: '{"count":7}' } });
    expect(bodies[5]).toMatchObject({ m: 1, text: 'Seven orders were cancelled.', calls: [] });
    expect(bodies.at(-1)).toMatchObject({ answer: 'Seven orders were cancelled.', stopReason: 'final_answer' });
  });

  test.each(dialects)('T6: of %s counts tokens at the model calls, not again at the agent', (dialect) => {
    expect(rollUpOf(agentSpans(dialect, traceId))).toMatchObject({
      tokens: 330,
      steps: 2,
      toolCalls: 1,
      tools: ['count_orders'],
    });
  });

  test('T3: has the same roll-up and the same story in any order; title and user are those of the outermost agent', () => {
    const inner = agentSpans('genai', traceId).map((span) => ({
      ...span,
      spanId: span.spanId.replace(/^ab/, 'cd'),
      parentSpanId: span.parentSpanId?.replace(/^ab/, 'cd') ?? `${traceId.slice(0, 14)}c1`,
      startNano: span.startNano + 320_000_000n,
      endNano: span.endNano + 320_000_000n,
      attributes: { ...span.attributes, 'gen_ai.agent.name': 'inner', 'user.id': 'someone else' },
    }));
    const spans = [...agentSpans('genai', traceId), ...inner];
    const expected = { roll: rollUpOf(spans), story: storyOf(spans) };
    expect(expected.roll.start).toMatchObject({ agent: 'analyst', userId: 'ana' });
    fc.assert(
      fc.property(fc.shuffledSubarray(spans, { minLength: spans.length }), (order) => {
        expect(rollUpOf(order)).toEqual(expected.roll);
        expect(storyOf(order)).toEqual(expected.story);
      }),
    );
  });

  test('T8: without its outermost span it is running, not done', () => {
    expect(statusOf(rollUpOf(agentSpans('genai', traceId).slice(1)))).toBe('running');
    expect(statusOf(rollUpOf(agentSpans('genai', traceId)))).toBe('ended');
  });

  test('T7: spans whose parent never came are there and marked; once it comes they are not', () => {
    const [agent, ...rest] = agentSpans('genai', traceId);
    const orphans = (spans: OtlpSpan[]) =>
      storyOf(spans)
        .filter(({ isOrphan }) => isOrphan)
        .map(({ slot }) => slot);
    expect(orphans(rest)).toEqual(['thought.0', 'observed.0.0', 'thought.1']);
    expect(orphans([...rest, agent as OtlpSpan])).toEqual([]);
  });

  test('that says its rounds has them for steps, whatever is between the round and its calls', () => {
    const [agent, first, tool, second] = agentSpans('genai', traceId) as [OtlpSpan, OtlpSpan, OtlpSpan, OtlpSpan];
    const round = { ...agent, spanId: '7'.repeat(16), parentSpanId: agent.spanId, name: 'react step' };
    const stepped = { ...round, attributes: { 'gen_ai.span.kind': 'STEP', 'gen_ai.react.round': 4 } };
    const plain = { ...round, spanId: '6'.repeat(16), parentSpanId: round.spanId, attributes: {} };
    const inside = [first, tool, second].map((span) => ({ ...span, parentSpanId: plain.spanId }));
    const steps = storyOf([agent, stepped, plain, ...inside]).flatMap(({ step }) => step ?? []);
    expect(steps).toEqual([4, 4, 4, 4]);
  });

  test('tells a conversation that is sent again at every call in pieces that are the same', () => {
    const [, first, , second] = agentSpans('genai', traceId).map((span) => entryOfSpan(span, run).record.pieces ?? []);
    expect(second).toContain(first?.[1]);
    expect(first?.[1]).toContain('How many orders');
  });
});

describe('reading', () => {
  const json = (span: object) =>
    new TextEncoder().encode(JSON.stringify({ resourceSpans: [{ scopeSpans: [{ spans: [span] }] }] }));
  const good = {
    traceId: 'ABCDEF0123456789ABCDEF0123456789',
    spanId: 'ABCDEF0123456789',
    name: 'x',
    startTimeUnixNano: '1780000000000000000',
    endTimeUnixNano: 1780000000000000,
    attributes: [
      { key: 'big', value: { intValue: '9007199254740993' } },
      { key: 'list', value: { arrayValue: { values: [{ stringValue: 'a' }, { doubleValue: 1.5 }] } } },
      { key: 'map', value: { kvlistValue: { values: [{ key: 'k', value: { boolValue: true } }] } } },
    ],
  };

  test('JSON takes ids in either case, numbers as text, and keeps 64 bits', () => {
    const { spans } = readJsonSpans(json({ ...good, endTimeUnixNano: '1780000000000000001' }));
    expect(spans[0]).toMatchObject({
      traceId: 'abcdef0123456789abcdef0123456789',
      parentSpanId: null,
      attributes: { big: '9007199254740993', list: ['a', 1.5], map: { k: true } },
    });
  });

  test.each([
    [{ traceId: '00'.repeat(16) }, 'trace_id'],
    [{ traceId: 'ab' }, 'trace_id'],
    [{ spanId: 'zz'.repeat(8) }, 'span_id'],
    [{ endTimeUnixNano: '1' }, 'end_time'],
    [{ startTimeUnixNano: 'soon' }, 'could not be read'],
    [{ attributes: 7 }, 'could not be read'],
  ])('a span with %j is refused and its neighbours are kept', (wrong, word) => {
    const request = {
      resourceSpans: [
        {
          scopeSpans: [
            {
              spans: [
                { ...good, endTimeUnixNano: good.startTimeUnixNano },
                { ...good, ...wrong },
              ],
            },
          ],
        },
      ],
    };
    const received = readJsonSpans(new TextEncoder().encode(JSON.stringify(request)));
    expect([received.spans.length, received.rejected]).toEqual([1, 1]);
    expect(received.reason).toContain(word);
  });

  test('any bytes give spans, refusals or a RejectedError, in both encodings', () => {
    const attempt = (read: (bytes: Uint8Array) => unknown, bytes: Uint8Array) => {
      try {
        return typeof read(bytes) === 'object';
      } catch (error) {
        return error instanceof RejectedError;
      }
    };
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 400 }), (bytes) => {
        expect(attempt(readProtobufSpans, bytes)).toBe(true);
        expect(attempt(readJsonSpans, bytes)).toBe(true);
      }),
    );
    const deep = new TextEncoder().encode('{"resourceSpans":'.repeat(50_000));
    expect(() => readJsonSpans(deep)).toThrow(RejectedError);
  });

  test('T1: a span that no dialect explains is kept as it is', () => {
    const strange = {
      ...agentSpans('genai', traceId)[0],
      attributes: {
        'gen_ai.input.messages': '[1,"x",null,{"parts":7}]',
        'gen_ai.operation.name': 'chat',
        'gen_ai.usage.input_tokens': -5,
      },
    } as OtlpSpan;
    const { record } = entryOfSpan(strange, run);
    expect([record.kind, record.inputTokens]).toEqual(['thought', null]);
    for (const name of ['gen_ai.operation.name', 'openinference.span.kind'] satisfies string[]) {
      const odd = { ...strange, attributes: { [name]: 'something_new' } };
      expect(entryOfSpan(odd, run).record.kind).toBe('span');
    }
  });
});

test('every dialect is told apart by what it says alone', () => {
  const kinds = (dialect: Dialect) =>
    agentSpans(dialect, traceId).map((span) => entryOfSpan({ ...span, name: 'x' }, run).record.kind);
  for (const dialect of dialects) expect(kinds(dialect)).toEqual(['span', 'thought', 'observed', 'thought']);
});
