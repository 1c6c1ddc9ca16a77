import { describe, expect, it } from 'vitest';
import type { Acted, Ended, Fact, Paused } from '@pawl/contracts';
import type { Action } from './action.ts';
import { decide } from './decide.ts';
import { call, cancelled, definitionWith, observed, started, startMs, stateOf, thought } from './story.suite.ts';
import { evolve, type RunState } from './state.ts';

const definition = definitionWith([{ name: 'search' }, { name: 'refund', roles: ['support'] }]);

function decided(state: RunState, offsetMs = 1_000): Action[] {
  return decide(state, definition, startMs + offsetMs);
}

function written(actions: Action[]): Fact[] {
  return actions.flatMap((action) => (action.type === 'write' ? [action.fact] : []));
}

function endOf(actions: Action[]): Ended | Paused | undefined {
  return written(actions).find((fact) => fact.kind === 'ended' || fact.kind === 'paused');
}

/** The state after everything that `decide` wants written is written. */
function settle(state: RunState, offsetMs = 1_000): RunState {
  return written(decided(state, offsetMs)).reduce<RunState>((so, fact) => evolve(so, fact) ?? so, state);
}

describe('the loop', () => {
  it('asks a model first', () => {
    expect(decided(stateOf(started()))[0]).toEqual({ type: 'think', m: 0, purpose: 'think' });
  });

  it('ends with the text of a thought that calls nothing', () => {
    const end = endOf(decided(stateOf(started(), thought(0, { text: 'Because.' }))));
    expect(end).toMatchObject({ stopReason: 'final_answer', answer: 'Because.', partial: false, steps: 1 });
  });

  it('marks an answer that was cut by the model as partial', () => {
    const end = endOf(decided(stateOf(started(), thought(0, { text: 'Beca', finishReason: 'length' }))));
    expect(end).toMatchObject({
      stopReason: 'final_answer',
      partial: true,
      detail: expect.stringContaining('breaks off'),
    });
  });

  it('writes down the calls of a thought and has all of them executed at once', () => {
    const actions = decided(
      stateOf(started(), thought(0, { calls: [call('search', { q: 1 }), call('search', { q: 2 })] })),
    );
    expect(written(actions).map((fact) => fact.kind)).toEqual(['acted']);
    expect(actions.filter((action) => action.type === 'act').map((action) => action.call.i)).toEqual([0, 1]);
  });

  it('asks again for what has no observation yet, and only for that', () => {
    const calls = [call('search', { q: 1 }), call('search', { q: 2 })];
    const state = settle(stateOf(started(), thought(0, { calls })));
    const actions = decided(stateOf(state.started, thought(0, { calls }), ...written(decided(state)), observed(0, 1)));
    expect(actions.filter((action) => action.type === 'act').map((action) => action.call.i)).toEqual([0]);
  });

  it('thinks on when every call is answered', () => {
    const state = settle(stateOf(started(), thought(0, { calls: [call('search')] }), observed(0, 0)));
    expect(decided(state)[0]).toEqual({ type: 'think', m: 1, purpose: 'think' });
  });

  it('asks once more after an empty reply, then gives up', () => {
    expect(decided(stateOf(started(), thought(0)))[0]).toMatchObject({ type: 'think', m: 1 });
    expect(endOf(decided(stateOf(started(), thought(0), thought(1))))).toMatchObject({ stopReason: 'invalid_answer' });
  });

  it('decides nothing behind the end', () => {
    expect(decided(settle(stateOf(started(), thought(0, { text: 'Done.' }))))).toEqual([]);
  });

  it('takes a slot that is filled as it is', () => {
    const state = stateOf(started(), thought(0, { text: 'first' }), thought(0, { text: 'second' }));
    expect(state.turns[0]?.thought?.text).toBe('first');
  });
});

describe('calls that may not be made', () => {
  const observationOf = (calls: ReturnType<typeof call>[], limits = {}) => {
    const state = settle(stateOf(started(limits), thought(0, { calls })));
    return state.turns[0]?.observed ?? {};
  };

  it('answers a broken argument string and leaves the other calls alone', () => {
    const calls = [call('search'), call('search', '{"a":'), call('search', { q: 2 })];
    const state = settle(stateOf(started(), thought(0, { calls })));
    expect(Object.keys(state.turns[0]?.observed ?? {})).toEqual(['1']);
    expect(state.turns[0]?.observed[1]?.observation).toMatchObject({
      status: 'error',
      errorCode: 'invalid_arguments_json',
    });
    expect(
      decided(state)
        .filter((action) => action.type === 'act')
        .map((action) => action.call.i),
    ).toEqual([0, 2]);
  });

  it('says which tools there are when the model makes one up', () => {
    const { observation } = observationOf([call('serch')])[0] ?? {};
    expect(observation).toMatchObject({
      status: 'denied',
      errorCode: 'unknown_tool',
      suggestion: 'Use one of: search.',
    });
  });

  it('hides a tool from a user without its role', () => {
    expect(observationOf([call('refund')])[0]?.observation.errorCode).toBe('unknown_tool');
    const first = started({}, { user: { id: 'ana', roles: ['support'] } });
    expect(settle(stateOf(first, thought(0, { calls: [call('refund')] }))).turns[0]?.observed).toEqual({});
  });

  it('takes arguments that are JSON but no object as a mistake', () => {
    expect(observationOf([call('search', '[1]')])[0]?.observation.errorCode).toBe('invalid_arguments_json');
  });

  it('takes an empty argument string as no arguments', () => {
    const state = settle(stateOf(started(), thought(0, { calls: [call('search', '')] })));
    expect(state.turns[0]?.acted?.calls[0]).toMatchObject({ args: '{}', admission: 'run' });
  });

  it('gives calls ids of its own, whatever the model sent', () => {
    const acted = written(
      decided(stateOf(started(), thought(0, { calls: [call('search'), call('search')] }))),
    )[0] as Acted;
    expect(acted.calls.map(({ callId }) => callId)).toEqual(['call_0_0', 'call_0_1']);
  });
});

describe('limits', () => {
  const afterOneStep = (limits: Parameters<typeof started>[0]) =>
    settle(stateOf(started(limits), thought(0, { text: 'so far', calls: [call('search')] }), observed(0, 0)));

  it.each([
    ['max_steps', { steps: 1 }],
    ['max_tokens', { tokens: 1_500 }],
    ['max_spend', { spendNanoUsd: '1000' }],
  ])('makes a closing call at %s and ends with its answer', (reason, limits) => {
    const state = afterOneStep(limits);
    const asked = decided(state)[0];
    expect(asked).toEqual({ type: 'think', m: 1, purpose: 'conclude', closing: reason });
    const closing = thought(1, { purpose: 'conclude', closing: reason as 'max_steps', text: 'best guess' });
    const end = endOf(decided(stateOf(state.started, ...factsOf(state), closing)));
    expect(end).toMatchObject({ stopReason: reason, answer: 'best guess', partial: true });
  });

  it('ends without a closing call when there is no room even for that', () => {
    const end = endOf(decided(afterOneStep({ tokens: 200 })));
    expect(end).toMatchObject({ stopReason: 'max_tokens', answer: 'so far', partial: true });
  });

  it('executes nothing that a closing call asks for', () => {
    const closing = thought(1, { purpose: 'conclude', closing: 'max_steps', calls: [call('search')] });
    const asked = afterOneStep({ steps: 1 });
    const state = settle(stateOf(asked.started, ...factsOf(asked), closing));
    expect(state.turns[1]?.observed[0]?.observation).toMatchObject({ status: 'denied', errorCode: 'tool_not_allowed' });
    expect(endOf(decided(state))).toMatchObject({ stopReason: 'max_steps', answer: 'so far' });
  });

  it('denies calls beyond the limit, then closes', () => {
    const calls = [call('search', { q: 1 }), call('search', { q: 2 })];
    const state = settle(stateOf(started({ toolCalls: 1 }), thought(0, { calls }), observed(0, 0)));
    expect(state.turns[0]?.observed[1]?.observation.errorCode).toBe('too_many_tool_calls');
    expect(decided(state)[0]).toMatchObject({ purpose: 'conclude', closing: 'max_tool_calls' });
  });

  it('lets the model answer when it has used exactly what it had', () => {
    const state = settle(stateOf(started({ toolCalls: 1 }), thought(0, { calls: [call('search')] }), observed(0, 0)));
    expect(decided(state)[0]).toMatchObject({ purpose: 'think' });
  });

  it('closes when the deadline nears and ends at once when it has passed', () => {
    const state = afterOneStep({ wallClockMs: 10_000 });
    expect(decided(state, 9_100)[0]).toMatchObject({ purpose: 'conclude', closing: 'deadline' });
    expect(endOf(decided(state, 10_001))).toMatchObject({ stopReason: 'deadline', answer: 'so far' });
  });

  it('answers calls that hang when the time is over', () => {
    const state = stateOf(started({ wallClockMs: 10_000 }), thought(0, { calls: [call('search')] }));
    const late = settle(settle(state), 11_000);
    expect(late.turns[0]?.observed[0]?.observation.status).toBe('timeout');
  });

  it('ends without a model when none answers', () => {
    const failed = thought(0, { outcome: 'failed', error: { code: 'model_unavailable', message: 'refused' } });
    expect(endOf(decided(stateOf(started(), failed)))).toMatchObject({
      stopReason: 'model_unavailable',
      detail: 'refused',
    });
  });
});

it('does not count the time that a sub-run waits for a person, which ends by a deadline of its own', () => {
  const withHelper = definitionWith([{ name: 'helper', agent: { name: 'helper' } }]);
  const asked = stateOf(started({ wallClockMs: 10_000 }), thought(0, { calls: [call('helper')] }));
  const [acted] = written(decide(asked, withHelper, startMs + 1_000));
  const state = (acted && evolve(asked, acted)) ?? asked;
  const late = startMs + 60_000;
  expect(decide(state, withHelper, late)).toMatchObject([{ type: 'subrun' }, { type: 'wake' }]);
  const answer = (waitedMs: number): RunState =>
    evolve(state, { ...observed(0, 0), tool: 'helper', spent: { tokens: 1, costNanoUsd: '1', waitedMs } }) ?? state;
  expect(decide(answer(55_000), withHelper, late)[0]).toMatchObject({ type: 'think', purpose: 'think' });
  expect(endOf(decide(answer(0), withHelper, late))).toMatchObject({ stopReason: 'deadline' });
});

describe('cancel', () => {
  it('waits a moment for the model to let go, then fills its slot and ends', () => {
    const state = stateOf(started(), cancelled(1_000));
    expect(decided(state, 1_100)).toEqual([{ type: 'wake', atMs: startMs + 2_500 }]);
    const abandoned = settle(state, 2_600);
    expect(abandoned.turns[0]?.thought).toMatchObject({ outcome: 'failed', error: { code: 'run_stopped' } });
    expect(endOf(decided(abandoned, 2_600))).toMatchObject({ stopReason: 'cancelled' });
  });

  it('ends at once when the model has let go', () => {
    const letGo = thought(0, { outcome: 'failed', error: { code: 'run_stopped', message: 'cancelled' } });
    expect(endOf(decided(stateOf(started(), cancelled(100), letGo)))).toMatchObject({ stopReason: 'cancelled' });
  });

  it('starts no call that was asked for too late', () => {
    const state = stateOf(started(), cancelled(100), thought(0, { calls: [call('search')] }));
    expect(decided(state, 150).some((action) => action.type === 'act')).toBe(false);
    expect(settle(state, 150).turns[0]?.observed[0]?.observation.status).toBe('cancelled');
  });

  it('gives calls under way a moment to tell what they did', () => {
    const state = settle(stateOf(started(), thought(0, { calls: [call('search')] })));
    const stopping = evolve(state, cancelled(2_000)) ?? state;
    expect(decided(stopping, 2_100).filter((action) => action.type !== 'wake')).toEqual([]);
    expect(settle(stopping, 3_600).turns[0]?.observed[0]?.observation.status).toBe('cancelled');
  });

  it('ends as soon as the calls have told what they did, since no model is at work', () => {
    const state = settle(stateOf(started(), thought(0, { calls: [call('search')] })));
    const stopping = evolve(state, cancelled(2_000)) ?? state;
    const told = evolve(stopping, observed(0, 0, { status: 'cancelled', data: null })) ?? stopping;
    expect(endOf(decided(told, 2_050))).toMatchObject({ stopReason: 'cancelled' });
    const late = evolve(evolve(state, observed(0, 0)) ?? state, cancelled(2_000)) ?? state;
    expect(decided(late, 2_050)).toEqual([{ type: 'wake', atMs: startMs + 3_500 }]);
  });

  it('does not take back an answer that was there already', () => {
    const state = stateOf(started(), thought(0, { text: 'Because.' }), cancelled(100));
    expect(endOf(decided(state))).toMatchObject({ stopReason: 'final_answer', answer: 'Because.' });
  });
});

function factsOf(state: RunState): Fact[] {
  return state.turns.flatMap((turn) => [
    ...(turn.thought ? [turn.thought] : []),
    ...(turn.acted ? [turn.acted] : []),
    ...Object.values(turn.observed),
  ]);
}
