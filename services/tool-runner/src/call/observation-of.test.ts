import { describe, expect, test } from 'vitest';
import { toolSpecSchema, type ToolSpec } from '@pawl/contracts';
import { isRepeatable, mayTryAgain, observationOf, timeoutMsOf } from './observation-of.ts';
import type { Failure } from './outcome.ts';

const spec = (more: Record<string, unknown> = {}): ToolSpec =>
  toolSpecSchema.parse({ description: 'A tool.', http: { method: 'GET', url: 'https://example.com' }, ...more });
const failure = (more: Partial<Failure> = {}): Failure => ({
  kind: 'failure',
  code: 'tool_failed',
  message: 'It failed.',
  suggestion: 'Try another.',
  isTransient: true,
  effect: 'possible',
  ...more,
});

describe('trying again', () => {
  test.each<[string, Record<string, unknown>, Partial<Failure>, boolean[]]>([
    ['a read, once', {}, {}, [true, false]],
    ['a read as often as it says', { retry: { max: 2 } }, {}, [true, true, false]],
    ['a read that says never', { retry: { max: 0 } }, {}, [false]],
    ['a failure that lasts', {}, { isTransient: false }, [false]],
    ['a write', { effect: 'write' }, {}, [false]],
    ['a write, even where nothing happened', { effect: 'write' }, { effect: 'none' }, [false]],
    ['a write that may be repeated', { effect: 'write', idempotent: true }, {}, [true, false]],
  ])('%s', (...[, more, failed, verdicts]) => {
    expect(verdicts.map((_verdict, at) => mayTryAgain(spec(more), failure(failed), at + 1))).toEqual(verdicts);
  });

  test('reads may be repeated unless they say otherwise', () => {
    expect(isRepeatable(spec())).toBe(true);
    expect(isRepeatable(spec({ idempotent: false }))).toBe(false);
    expect(timeoutMsOf(spec())).toBe(30_000);
    expect(timeoutMsOf(spec({ timeout: '2s' }))).toBe(2_000);
  });
});

describe('observations', () => {
  const observe = (outcome: Parameters<typeof observationOf>[0], more: Record<string, unknown> = {}) =>
    observationOf(outcome, { spec: spec(more), maxChars: 500 });

  test('a failed write that may have happened is in doubt, whatever else is known', () => {
    for (const idempotent of [true, false]) {
      const { observation } = observe(failure(), { effect: 'write', idempotent });
      expect(observation).toMatchObject({ status: 'in_doubt', errorCode: 'in_doubt' });
      expect(observation.message).toBe('It failed. Nobody knows whether the effect happened.');
    }
    expect(observe(failure({ effect: 'none' }), { effect: 'write' }).observation.status).toBe('error');
    expect(observe(failure()).observation).toMatchObject({ status: 'error', suggestion: 'Try another.' });
  });

  test.each([
    ['tool_timeout', 'timeout'],
    ['run_stopped', 'cancelled'],
    ['secret_missing', 'error'],
  ] as const)('%s has the status %s', (code, status) => {
    expect(observe(failure({ code })).observation).toMatchObject({ status, errorCode: code });
  });

  test('a long result is cut, and the whole of it is handed back to be kept', () => {
    const data = JSON.stringify('x'.repeat(2_000));
    const { observation, whole } = observe({ kind: 'result', data });
    expect(whole).toBe(data);
    expect(observation).toMatchObject({ status: 'ok', truncated: true, ref: null });
    expect(observation.data?.length).toBeLessThanOrEqual(500);
    expect(observation.message).toMatch(/characters in the middle were left out/);
  });

  test('a result that was read only in part says so although it fits', () => {
    const { observation, whole } = observe({ kind: 'result', data: '[1]', incomplete: 'There is more.' });
    expect(observation).toMatchObject({ data: '[1]', truncated: true, message: 'There is more.' });
    expect(whole).toBeUndefined();
  });

  test('hidden characters of data and messages are shown', () => {
    expect(observe({ kind: 'result', data: '"a\u202e"' }).observation.data).toBe(String.raw`"a\u202e"`);
    expect(observe(failure({ message: 'a\u202e' })).observation.message).toBe(String.raw`a\u{202e}`);
  });
});
