import { expect, it } from 'vitest';
import { decide } from './decide.ts';
import { evolve, type RunState } from './state.ts';
import {
  call,
  cancelled,
  definitionWith,
  observed,
  resumed,
  started,
  startMs,
  stateOf,
  thought,
} from './story.suite.ts';
import { thinkWorkOf } from './work.ts';

const definition = definitionWith([{ name: 'search' }]);

function settled(state: RunState, offsetMs: number): RunState {
  return decide(state, definition, startMs + offsetMs).reduce<RunState>(
    (so, action) => (action.type === 'write' ? (evolve(so, action.fact) ?? so) : so),
    state,
  );
}

it('ends a run that was cancelled and resumed in one moment, whatever the clocks say', () => {
  const paused = settled(stateOf(started({ tokens: 100 })), 0);
  expect(paused.pauses).toHaveLength(1);
  const both = [cancelled(0), resumed(0, {}, 10_000)].reduce<RunState>(
    (state, fact) => evolve(state, fact) ?? state,
    paused,
  );
  const abandoned = settled(both, 1_500);
  expect(settled(abandoned, 1_501).ended).toMatchObject({ stopReason: 'cancelled' });
});

it('asks again for a thought that the log has lost', () => {
  const state = stateOf(started(), observed(0, 0));
  expect(decide(state, definition, startMs)[0]).toEqual({ type: 'think', m: 0, purpose: 'think' });
});

it('tells the gateway which classes of data a run has read, those of the run that asked for it included', () => {
  const personal = definitionWith([{ name: 'search', returns: { dataClass: 'personal' } }]);
  const call0 = { m: 1, purpose: 'think' as const };
  const first = started({}, { dataClasses: ['health'] });
  const fresh = thinkWorkOf(stateOf(first), { definition: personal, call: call0, nowMs: startMs });
  expect(fresh.dataClasses).toEqual(['health']);
  const read = stateOf(first, thought(0, { calls: [call('search')] }), observed(0, 0));
  const work = thinkWorkOf(read, { definition: personal, call: call0, nowMs: startMs });
  expect(work.dataClasses).toEqual(['health', 'personal']);
});
