import type { Fact } from '@pawl/contracts';
import { describe, expect, test } from 'vitest';
import { actedWith, approvalOf, observedOf, pausedFact, refundCall } from './testing/waiting-run.ts';
import { storyOf } from './testing/run-server.ts';
import { watchForRest } from './until-rest.ts';

const search = { ...refundCall, i: 1, callId: 'call_0_1', tool: 'search', admission: 'run' as const };
const question = { ...refundCall, tool: 'ask_user', admission: 'input' as const };
const [signal, ended] = storyOf(1) as [Fact, Fact];

const restsOf = (...facts: Fact[]) => facts.map(watchForRest());

describe('a run rests', () => {
  test('when it waits for people only, until all of it is decided', () => {
    expect(restsOf(actedWith(refundCall), approvalOf(0, 'approve'), observedOf(0))).toEqual([true, false, false]);
    const two = actedWith(refundCall, { ...refundCall, i: 1 });
    expect(restsOf(two, approvalOf(0, 'deny'), observedOf(0), approvalOf(1, 'deny'))).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });

  test('not while another call of the same turn is under way', () => {
    expect(restsOf(actedWith(refundCall, search), observedOf(1))).toEqual([false, true]);
  });

  test('when it has asked a question, until it is told something; a word does not decide a call', () => {
    expect(restsOf(actedWith(question), signal)).toEqual([true, false]);
    expect(restsOf(actedWith(refundCall), signal)).toEqual([true, true]);
  });

  test('when it has paused, and not before it has something to do', () => {
    expect(restsOf(signal, actedWith(search), observedOf(1), pausedFact)).toEqual([false, false, false, true]);
    expect(restsOf(ended)).toEqual([false]);
  });
});
