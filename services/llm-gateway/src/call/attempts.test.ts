import { describe, expect, it } from 'vitest';
import type { ModelCallResult } from '../providers/call-model.ts';
import { attemptsMaxOf, nextStep } from './attempts.ts';

const reply = { choices: [{ text: '', refusal: '', calls: [] }], reasoningText: '' } as ModelCallResult['reply'];
const result = (end: ModelCallResult['end'], firstTokenMs?: number): ModelCallResult => ({
  reply,
  mayCost: false,
  end,
  ...(firstTokenMs === undefined ? {} : { firstTokenMs }),
});
const busy: ModelCallResult['end'] = { kind: 'busy', message: 'm', retryAfterMs: undefined };
const refused: ModelCallResult['end'] = { kind: 'refused', code: 'model_refused', message: 'm' };
const broken: ModelCallResult['end'] = { kind: 'broken', code: 'model_unavailable', message: 'm' };
const candidates = [{ provider: 'p', model: 'a' }];
const step = (of: ModelCallResult, rest: object = {}) =>
  nextStep({ result: of, spec: { candidates }, attemptsLeft: 1, isLast: false, ...rest });

describe('the next step', () => {
  it('is the next candidate, or the same one again where that is free', () => {
    expect(step(result(busy))).toBe('fallback');
    expect(step(result(busy), { isLast: true })).toBe('retry');
    expect(step(result(broken))).toBe('fallback');
    expect(step(result(broken), { isLast: true })).toBe('done');
    expect(step(result({ kind: 'stopped', stop: { kind: 'timeout', phase: 'firstToken', limitMs: 1 } }))).toBe(
      'fallback',
    );
  });

  it('is none after the first word, without attempts left, or for what another endpoint can not mend', () => {
    expect(step(result(broken, 5))).toBe('done');
    expect(step(result(busy), { attemptsLeft: 0 })).toBe('done');
    expect(step(result({ kind: 'reply' }))).toBe('done');
    expect(step(result(refused))).toBe('done');
    expect(step(result({ kind: 'stopped', stop: { kind: 'client-left' } }))).toBe('done');
    expect(step(result({ kind: 'stopped', stop: { kind: 'timeout', phase: 'total', limitMs: 1 } }))).toBe('done');
  });

  it('follows what the route declares', () => {
    const on = (cause: string) => ({ spec: { candidates, fallback: { on: [cause] } } });
    expect(step(result(refused), on('refused'))).toBe('fallback');
    expect(step(result({ ...refused, isTooLong: true }), on('context_length'))).toBe('fallback');
    expect(step(result({ ...busy, isRateLimit: true }), on('unavailable'))).toBe('retry');
  });
});

it('bounds attempts over all candidates', () => {
  expect(attemptsMaxOf({ candidates }, 1)).toBe(2);
  expect(attemptsMaxOf({ candidates }, 4)).toBe(4);
  expect(attemptsMaxOf({ candidates, retry: { max: 0 } }, 4)).toBe(1);
});
