import { expect, it } from 'vitest';
import { decide } from './decide.ts';
import { evolve, type RunState } from './state.ts';
import { cancelled, definitionWith, resumed, started, startMs, stateOf } from './story.suite.ts';

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
