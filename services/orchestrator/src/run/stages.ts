/**
 * Stages: which tools an agent may use by how far its run has come (T1). A run starts in the first stage and moves on to
 * the next one as soon as that one's condition holds; it never moves back. Conditions see
 * `steps`, `toolCalls` and `tools` (the names of tools that have answered with ok).
 */
import type { AgentSpec } from '@pawl/contracts';
import { holds } from './rules.ts';
import type { RunState } from './state.ts';
import { isStep } from './totals.ts';

export type Stage = NonNullable<AgentSpec['stages']>[number];

/** The stage that a run is in before its thought m, or undefined when its agent has none. */
export function stageOf(state: RunState, spec: AgentSpec, m: number): Stage | undefined {
  const [first, ...others] = spec.stages ?? [];
  let current = first;
  let steps = 0;
  let toolCalls = 0;
  const tools = new Set<string>();
  let next = 0;
  const moveOn = () => {
    for (let stage = others[next]; stage; stage = others[next]) {
      const isEntered =
        stage.enterWhen === undefined || holds(stage.enterWhen, { steps, toolCalls, tools: [...tools] }, false);
      if (!isEntered) return;
      current = stage;
      next += 1;
    }
  };
  for (const turn of state.turns.slice(0, m)) {
    if (isStep(turn)) steps += 1;
    for (const { tool, observation } of Object.values(turn.observed)) {
      toolCalls += 1;
      if (observation.status === 'ok') tools.add(tool);
    }
    moveOn();
  }
  return current;
}
