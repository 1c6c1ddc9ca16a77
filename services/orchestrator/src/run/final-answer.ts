/** What a turn offers as the run's answer, in whichever way it says so, and what is wrong with it. Pure. */
import type { Definition } from '@pawl/contracts';
import { builtinOf, textArgument } from './admit.ts';
import { answerMistake } from './answer.ts';
import { replyOf } from './reply.ts';
import type { RunState, Turn } from './state.ts';

/** The text that a turn gives as the final answer: a reply without calls, or what `direct_answer` was called with. */
export function offeredAnswerOf(turn: Turn, definition: Definition): string | undefined {
  const { thought } = turn;
  if (thought?.outcome !== 'reply') return undefined;
  const { text, calls } = replyOf(thought, definition.agent.object.spec);
  if (thought.purpose === 'think') {
    const direct = turn.acted?.calls.find(
      ({ tool, argsHash }) => argsHash !== undefined && builtinOf(definition, tool) === 'direct_answer',
    );
    if (direct) return textArgument(direct.args, 'answer');
  }
  const mayAnswer = thought.purpose === 'think' || thought.purpose === 'conclude';
  return mayAnswer && calls.length === 0 && text.trim() !== '' ? text : undefined;
}

/** Whether a turn should have given the final answer, and what it gave is none, or doesn't fit the agent's schema. */
export function isMistaken(turn: Turn, definition: Definition): boolean {
  const { thought } = turn;
  if (thought?.outcome !== 'reply') return false;
  const offered = offeredAnswerOf(turn, definition);
  const isLast = thought.purpose === 'conclude' && thought.closing === 'final_answer';
  if (offered === undefined) return isLast;
  return answerMistake(definition.agent.object.spec, offered) !== undefined;
}

/** The best answer so far: the last thing that the model said about the question, or null. */
export function bestAnswerOf(state: RunState, definition: Definition): string | null {
  const said = state.turns.map((turn) => {
    const { thought } = turn;
    if (thought?.outcome !== 'reply' || (thought.purpose !== 'think' && thought.purpose !== 'conclude')) return '';
    return offeredAnswerOf(turn, definition) ?? replyOf(thought, definition.agent.object.spec).text;
  });
  return said.findLast((text) => text.trim() !== '') ?? null;
}
