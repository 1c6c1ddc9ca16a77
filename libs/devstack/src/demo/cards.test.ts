import colors from 'picocolors';
import { expect, test } from 'vitest';
import { renderCard, renderSummary } from './cards.ts';
import { wrap } from './wrap.ts';

const style = { colors: colors.createColors(false), width: 60 };
const base = { v: 1, runId: 'run_01', app: 'demo', at: '2026-11-30T10:00:00.000Z' };

function render(fact: Record<string, unknown>): string | undefined {
  return renderCard({ ...base, ...fact } as never, style);
}

const thought = {
  kind: 'thought',
  m: 0,
  purpose: 'think',
  outcome: 'reply',
  text: 'I look at the trend first.',
  calls: [{ id: 'c1', tool: 'query_metric', args: '{}' }],
  costNanoUsd: '1200000',
};

test('a thought shows its text and its cost', () => {
  expect(render(thought)).toBe('Agent Thinking · 0.0012 USD\n  I look at the trend first.\n');
});

test('a thought that is the answer has no card of its own', () => {
  expect(render({ ...thought, calls: [] })).toBeUndefined();
});

test.each([
  ['plan', 'makes a plan'],
  ['reflect', 'looks back at what it has found so far'],
  ['summarize', 'sums up the steps so far'],
])('a thought to %s says so in words: %s', (purpose, words) => {
  expect(render({ ...thought, calls: [], purpose })).toBe(
    `Agent Thinking · ${words} · 0.0012 USD\n  I look at the trend first.\n`,
  );
});

test('a call that waits for a person says so', () => {
  const call = { i: 0, tool: 'refund', args: '{"amount":120}', admission: 'approval', why: 'above 100' };
  expect(render({ kind: 'acted', m: 0, step: 1, calls: [call] })).toBe(
    'Operation Executed\n  refund {"amount":120} · waits for approval: above 100\n',
  );
});

test('a result of one row with long cells is no raw JSON', () => {
  const observation = { status: 'ok', data: `{"rows":[{"id":7,"note":"${'so it is '.repeat(5)}"}]}` };
  expect(
    render({
      kind: 'observed',
      tool: 'query',
      observation: { message: null, suggestion: null, ...observation },
      durationMs: 1,
    }),
  ).toBe('Result Obtained · query · 1 ms\n  id    7\n  note  so it is so it is so it is so it is so it is\n');
});

test('parallel calls are one card', () => {
  const calls = ['product_line', 'region'].map((dimension, i) => ({
    i,
    tool: 'aggregate',
    args: `{"by":"${dimension}"}`,
  }));
  expect(render({ kind: 'acted', m: 0, step: 1, calls })).toBe(
    'Operation Executed · 2 at once\n  aggregate {"by":"product_line"}\n  aggregate {"by":"region"}\n',
  );
});

test('a long result is cut and says so; control sequences do not reach the terminal', () => {
  const observation = {
    status: 'ok',
    data: `"\u001B[2J\u202Eevil ${'word '.repeat(400)}"`,
    message: null,
    suggestion: null,
  };
  const text = render({ kind: 'observed', tool: 'query', observation, durationMs: 12.4 }) ?? '';
  expect(text).toMatch(/^Result Obtained · query · 12 ms\n {2}"\[2Jevil word/);
  expect(text).toMatch(/… \d+ more lines on the page\n$/);
});

test('a failed result says how, why and what next', () => {
  const observation = { status: 'denied', data: null, message: 'Not yours.', suggestion: 'Ask someone.' };
  expect(render({ kind: 'observed', tool: 'query', observation, durationMs: 1 })).toBe(
    'Result Obtained · query · denied · 1 ms\n  Not yours.\n  Ask someone.\n',
  );
});

test('a conclusion is never cut and names another reason than a final answer', () => {
  const answer = Array.from({ length: 40 }, (_, line) => `line ${line}`).join('\n');
  const ended = { kind: 'ended', stopReason: 'max_steps', detail: 'The run used all 10 steps.', answer };
  const text = render(ended) ?? '';
  expect(text).toMatch(/^Analysis Conclusion · max_steps\n {2}The run used all 10 steps\.\n {2}line 0\n/);
  expect(text).toContain('line 39');
});

test('a pause says why, with the closing answer', () => {
  const paused = { kind: 'paused', stopReason: 'max_steps', detail: 'The limit of 4 steps was reached.' };
  expect(render({ ...paused, answer: 'The drop sits in C.' })).toBe(
    'Run Paused · max steps\n  The limit of 4 steps was reached.\n  The drop sits in C.\n',
  );
  expect(render({ ...paused, stopReason: 'model_unavailable', answer: null })).toBe(
    'Run Paused · model unavailable\n  The model did not answer.\n',
  );
});

test('what to type next is only said while somebody is there to answer', () => {
  const cost = { nanoUsd: '0', amount: '0.00', currency: 'USD' };
  const run = { id: 'run_01', status: 'paused', cost, steps: 0, toolCalls: 0, tokens: 0, traceId: 'a' } as never;
  expect(renderSummary(run, { durationMs: undefined }, style)).toContain('npx pawl get run_01');
  expect(renderSummary(run, { durationMs: undefined, isLast: true }, style)).not.toContain('npx');
});

test('lines break between words, and long words anywhere', () => {
  expect(wrap('one two three four five six', 20)).toEqual(['one two three four', 'five six']);
  expect(wrap('x'.repeat(45), 20).map((line) => line.length)).toEqual([20, 20, 5]);
  expect(wrap('{"a":1111111111,"b":222222222}', 20)).toEqual(['{"a":1111111111,', '"b":222222222}']);
});
