/**
 * The plan of the strategy `plan-execute`: a numbered list that the model wrote. Its items tick off one by one with every
 * step whose calls all went well; a step that met a failure is a surprise and asks for a new plan.
 */
import type { RunState, Turn } from './state.ts';
import { isStep } from './totals.ts';

export type PlanItem = { text: string; isDone: boolean };
export type Plan = { items: PlanItem[]; isSurprised: boolean };

/** The newest plan before thought m, ticked as far as the run has come, or undefined when there is none. */
export function planOf(state: RunState, m: number): Plan | undefined {
  const before = state.turns.slice(0, m);
  const made = before.findLastIndex((turn) => turn.thought?.purpose === 'plan' && turn.thought.outcome === 'reply');
  if (made === -1) return undefined;
  const texts = parsePlan(before[made]?.thought?.text ?? '');
  const steps = before.slice(made + 1).filter(isStep);
  const done = steps.filter(wentWell).length;
  const last = steps.at(-1);
  return {
    items: texts.map((text, index) => ({ text, isDone: index < done })),
    isSurprised: last !== undefined && !wentWell(last),
  };
}

/** The items of a plan: its numbered lines, or else its lines. */
export function parsePlan(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  const numbered = lines.flatMap((line) => /^\d{1,2}[.)]\s+(\S.*)$/.exec(line)?.[1] ?? []);
  return (numbered.length > 0 ? numbered : lines.filter((line) => line !== '')).slice(0, 20);
}

/** The plan as a list whose done items are ticked. */
export function renderPlan(plan: Plan): string {
  return plan.items.map(({ text, isDone }, index) => `${index + 1}. [${isDone ? 'x' : ' '}] ${text}`).join('\n');
}

function wentWell(turn: Turn): boolean {
  return Object.values(turn.observed).every(
    ({ observation }) => observation.status === 'ok' || observation.status === 'duplicate',
  );
}
