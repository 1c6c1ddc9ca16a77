/** Tokens of a prompt. Where a provider has told what the conversation so far had, only what came after is counted. */
import type { ChatMessage, Definition, Observed, Signal, Thought } from '@pawl/contracts';
import { countTokens } from '@pawl/contracts/tokens';
import { messagesOf, offeredToolsOf } from './prompt.ts';
import type { RunState } from './state.ts';
import { isSummary } from './totals.ts';

/** What a message costs beside its text. */
const perMessage = 8;

/** Tokens that the prompt of the next model call has. */
export function promptTokensOf(state: RunState, definition: Definition): number {
  const call = { m: state.turns.length, purpose: 'think' as const };
  const told = lastTold(state);
  if (told) return told.tokens + countSince(state, told.m);
  const messages = messagesOf(state, definition, { call });
  const tools = offeredToolsOf(state, definition, call.m);
  return tokensOfMessages(messages) + countTokens(JSON.stringify(tools));
}

/** Tokens that messages have. */
export function tokensOfMessages(messages: ChatMessage[]): number {
  return messages.reduce((sum, message) => sum + perMessage + countTokens(JSON.stringify(message)), 0);
}

/** The newest model call whose measured usage covers the whole conversation up to it. */
function lastTold(state: RunState): { m: number; tokens: number } | undefined {
  const turn = state.turns.findLast((candidate) => isSummary(candidate) || isMeasured(candidate.thought));
  const { thought } = turn ?? {};
  if (!turn || !thought || isSummary(turn)) return undefined;
  return { m: turn.m, tokens: thought.usage.inputTokens + thought.usage.outputTokens };
}

function isMeasured(thought: Thought | undefined): boolean {
  return thought?.outcome === 'reply' && thought.costBasis === 'measured' && thought.usage.inputTokens > 0;
}

/** Tokens of what came behind thought m: its results, and signals that it had not seen. */
function countSince(state: RunState, m: number): number {
  const results = state.turns.slice(m).flatMap(({ observed }) => Object.values(observed));
  const signals = state.signals.slice(state.turns[m]?.thought?.signalsSeen ?? 0).map(({ signal }) => signal);
  return [...results, ...signals].reduce((sum, fact) => sum + tokensOfFact(fact) + 60, 0);
}

/** Facts never change, and each is asked for several times in a turn. */
const counted = new WeakMap<Observed | Signal, number>();

function tokensOfFact(fact: Observed | Signal): number {
  const known = counted.get(fact) ?? countTokens(textOf(fact));
  counted.set(fact, known);
  return known;
}

function textOf(fact: Observed | Signal): string {
  if (fact.kind === 'signal') return `${fact.text ?? ''}${fact.data ?? ''}`;
  const { data, message, suggestion } = fact.observation;
  return `${data ?? ''}${message ?? ''}${suggestion ?? ''}`;
}
