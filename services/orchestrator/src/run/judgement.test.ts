import { expect, it } from 'vitest';
import type { ToolCall } from '@pawl/contracts';
import { decide } from './decide.ts';
import { evolve, type RunState } from './state.ts';
import { call, definitionWith, started, startMs, stateOf, thought } from './story.suite.ts';

/** Arguments that tell how often they are looked at. */
function counted(calls: number): { calls: ToolCall[]; looks(): number } {
  let looks = 0;
  const one = (q: number): ToolCall => ({
    ...call('search', { q }),
    get args() {
      looks += 1;
      return JSON.stringify({ q });
    },
  });
  return { calls: Array.from({ length: calls }, (_unused, q) => one(q)), looks: () => looks };
}

it('R17: the calls of a thought are judged once, however many facts of them come, one after the other', () => {
  const definition = definitionWith([{ name: 'search' }]);
  const asked = 200;
  const { calls, looks } = counted(asked);
  let state: RunState = stateOf(started(), { ...thought(0), calls });
  const before = looks();
  let written = 0;
  for (;;) {
    const write = decide(state, definition, startMs + 500).find((action) => action.type === 'write');
    if (write?.type !== 'write') break;
    written += 1;
    state = evolve(state, write.fact) ?? state;
  }
  expect(written).toBeGreaterThan(asked / 2);
  expect(looks() - before).toBeLessThan(asked * 10);
  // Another definition is another judgement.
  expect(decide(stateOf(started(), { ...thought(0), calls }), definitionWith([]), startMs)[0]).toMatchObject({
    fact: { kind: 'acted', calls: expect.arrayContaining([expect.objectContaining({ admission: 'answered', i: 0 })]) },
  });
});
