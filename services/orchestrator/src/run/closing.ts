/**
 * The call that closes a run: what it may still say, and what every call before it leaves for it (G6). Pure.
 *
 * Invariant: the conversation is shortened until it fits what is left, and what is kept back always fits its shortest form.
 */
import { inputTokensMax, type ChatMessage, type Definition, type Reserve } from '@pawl/contracts';
import type { ModelCall } from './action.ts';
import { outputTokens } from './limits.ts';
import { messagesOf, shortMessagesOf, type Shortening } from './prompt.ts';
import { isBeforeResume, limitsOf, type RunState } from './state.ts';
import { promptTokensOf, tokensOfMessages } from './tokens.ts';
import { totalsOf } from './totals.ts';

/** What the shortest form has room for beside the question: the reason, and the newest of the work. */
const reservedBytes = 4_000;
/** Characters of each item of the work, tried in this order. */
const charsTried = [4_000, 1_000, 200];

export type ClosingPrompt = { messages: ChatMessage[]; promptTokens: number };

/** The longest prompt that a closing call has room for, or undefined where not even the question fits. */
export function closingPromptOf(state: RunState, definition: Definition, call: ModelCall): ClosingPrompt | undefined {
  const room = { tokens: tokensLeft(state) - outputTokens.min, bound: boundTold(state) };
  const fits = ({ messages, promptTokens }: ClosingPrompt) =>
    promptTokens <= room.tokens && boundOf(definition, messages) <= room.bound;
  const whole = { messages: messagesOf(state, definition, { call }), promptTokens: promptTokensOf(state, definition) };
  if (fits(whole)) return whole;
  const shortened = (to: Shortening): ClosingPrompt => {
    const messages = shortMessagesOf(state, definition, { call, to });
    return { messages, promptTokens: tokensOfMessages(messages) };
  };
  const found = charsTried.map((charsMax) => shortened({ charsMax, itemsMax: Infinity })).find(fits);
  return found ?? newestThatFit((itemsMax) => shortened({ charsMax: charsTried.at(-1) ?? 0, itemsMax }), fits);
}

/** Leaves the oldest items out, twice as many each time, down to none. */
function newestThatFit(
  shortened: (itemsMax: number) => ClosingPrompt,
  fits: (prompt: ClosingPrompt) => boolean,
): ClosingPrompt | undefined {
  for (let itemsMax = 256; itemsMax >= 1; itemsMax /= 2) {
    const prompt = shortened(itemsMax);
    if (fits(prompt)) return prompt;
  }
  const bare = shortened(0);
  return fits(bare) ? bare : undefined;
}

/** What the closing call may use at the least: whatever else the run asks for leaves so much of every budget. */
export function reserveOf(state: RunState, definition: Definition): Reserve {
  const { models } = definition.agent.object.spec;
  const call = { m: state.turns.length, purpose: 'conclude' as const };
  const shortest = shortMessagesOf(state, definition, { call, to: { charsMax: 0, itemsMax: 0 } });
  return {
    route: models.conclude ?? models.think,
    inputTokensMax: boundOf(definition, shortest) + reservedBytes,
    outputTokensMax: outputTokens.closingMin,
    spendLimitNanoUsd: limitsOf(state).spendNanoUsd,
  };
}

/** Tokens that the run has left. */
export function tokensLeft(state: RunState): number {
  return limitsOf(state).tokens - totalsOf(state).tokens;
}

/** What a closing call may be billed for, by the bound that holds are made by. */
function boundOf({ agent }: Definition, messages: ChatMessage[]): number {
  return inputTokensMax({ messages, tools: [], answerSchema: agent.object.spec.answer?.schema });
}

/** How long the closing call may be, where the newest model call was refused for money and told it. */
function boundTold(state: RunState): number {
  const last = state.turns.at(-1);
  const told = last && !isBeforeResume(state, last) ? last.thought?.error?.closingTokens : undefined;
  return told ?? Infinity;
}
