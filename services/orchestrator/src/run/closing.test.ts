/** Whatever a run has said and read: its closing call fits into what is left (G2, G6). */
import fc from 'fast-check';
import { countTokens } from '@pawl/contracts/tokens';
import { describe, expect, it } from 'vitest';
import { inputTokensMax, type Definition, type Thought, type ThinkWork } from '@pawl/contracts';
import { closingPromptOf, reserveOf } from './closing.ts';
import { decide } from './decide.ts';
import { evolve, pauseOf, startOf, type RunState } from './state.ts';
import { call, definitionWith, observed, signalled, started, startMs, stateOf, thought } from './story.suite.ts';
import { tokensOfMessages } from './tokens.ts';
import { totalsOf } from './totals.ts';
import { thinkWorkOf } from './work.ts';

const cases = process.env['PAWL_TEST_FULL'] ? 2_000 : 100;
const tools = [{ name: 'search' }];
const big = JSON.stringify('x '.repeat(4_000));

/** Nano-USD for every token, in or out. */
const price = 1_000n;

/** The bound that holds are made by; tools as the gateway sends them. */
function boundOf(work: ThinkWork): number {
  const offered = work.tools.map((tool) => ({ type: 'function', function: tool }));
  return inputTokensMax({ messages: work.messages, tools: offered, answerSchema: work.answerSchema });
}

type Gateway = { spent: bigint; /** What is billed of the bound of a prompt. */ inputShare: number };

/** What the gateway makes of think work: holds the worst case beside the reserve, shortens the reply, or refuses. */
function answerOf(gateway: Gateway, work: ThinkWork, said: Partial<Thought>): Partial<Thought> {
  const { reserve } = work;
  const kept = reserve ? BigInt(reserve.inputTokensMax + reserve.outputTokensMax) * price : 0n;
  const whole = BigInt(reserve?.spendLimitNanoUsd ?? work.runSpendLimitNanoUsd);
  const loop = BigInt(work.runSpendLimitNanoUsd);
  const left = (whole - kept < loop ? whole - kept : loop) - gateway.spent;
  const bound = boundOf(work);
  const output = Math.min(work.maxOutputTokens, Number(left / price) - bound);
  if (output < Math.min(work.minOutputTokens ?? 64, work.maxOutputTokens)) {
    const closingMin = reserve?.outputTokensMax ?? work.minOutputTokens ?? 64;
    const closingTokens = Math.max(0, Number((whole - gateway.spent) / price) - closingMin);
    const error = { code: 'budget_exceeded', message: 'no money', closingTokens };
    return { outcome: 'failed', error, costNanoUsd: '0', usage: usageOf(0, 0) };
  }
  const reply = within(
    output,
    said,
    output < work.maxOutputTokens ? 'spend' : work.isOutputShort ? 'tokens' : undefined,
  );
  const spoken = tokensOfReply(reply);
  const cost = (BigInt(Math.ceil(bound * gateway.inputShare)) + BigInt(spoken)) * price;
  gateway.spent += cost;
  return { ...reply, usage: usageOf(tokensOfMessages(work.messages), spoken), costNanoUsd: cost.toString() };
}

/** A reply as long as it may be; one that breaks off has no calls. */
function within(tokensMax: number, said: Partial<Thought>, cutBy: Thought['cutBy']): Partial<Thought> {
  if (tokensOfReply(said) <= tokensMax) return said;
  const rest = { text: said.text?.slice(0, tokensMax / 2) ?? '', finishReason: 'length', ...(cutBy ? { cutBy } : {}) };
  return rest;
}

function tokensOfReply({ text = '', calls = [] }: Partial<Thought>): number {
  return countTokens(text) + calls.reduce((sum, { args }) => sum + countTokens(args), 0);
}

function usageOf(inputTokens: number, outputTokens: number): Thought['usage'] {
  return { inputTokens, outputTokens, cachedInputTokens: 0, cacheWriteTokens: 0, reasoningTokens: 0 };
}

const text = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 200 }),
  fc.integer({ min: 0, max: 10_000 }).map((length) => 'figure '.repeat(length / 7)),
  fc.integer({ min: 0, max: 1_500 }).map((length) => '“Ä"\\ '.repeat(length / 5)),
);
const turn = fc.record({ say: text, args: text, result: text, signal: fc.option(text) });
const agent = fc.record({
  toolCalling: fc.constantFrom('native' as const, 'text' as const),
  answer: fc.constantFrom(undefined, { schema: { type: 'object', required: ['answer'] } }),
});

/** Plays a run in which the model never stops asking for calls. */
function play(first: RunState, of: { definition: Definition; turns: Turn[]; gateway: Gateway }): RunState {
  const { definition, turns, gateway } = of;
  let state = first;
  for (let round = 0; round < 400 && !pauseOf(state) && !state.ended; round += 1) {
    const { say, args, result, signal } = turns[round % turns.length] ?? emptyTurn;
    for (const action of decide(state, definition, startMs)) {
      if (action.type === 'write') state = evolve(state, action.fact) ?? state;
      if (action.type === 'act') {
        const data = JSON.stringify({ result, round });
        state = evolve(state, observed(action.m, action.call.i, { data })) ?? state;
      }
      if (action.type !== 'think') continue;
      const work = thinkWorkOf(state, { definition, call: action, nowMs: startMs });
      const isSpoken = definition.agent.object.spec.toolCalling === 'text';
      const asked = JSON.stringify({ tool: 'search', args: { args, round } });
      const calls = isSpoken ? [] : [call('search', { args, round })];
      const reply = isSpoken ? { text: `${say}\nAction: ${asked}` } : { text: say, calls };
      const said = action.purpose === 'conclude' ? { text: 'Best so far.' } : reply;
      const { purpose, closing } = action;
      const fact = { purpose, ...(closing ? { closing } : {}), signalsSeen: state.signals.length };
      state = evolve(state, thought(action.m, { ...fact, ...answerOf(gateway, work, said) })) ?? state;
      if (signal !== null) state = evolve(state, signalled(`s${round}`, signal)) ?? state;
    }
  }
  return state;
}

type Turn = { say: string; args: string; result: string; signal: string | null };
const emptyTurn: Turn = { say: '', args: '', result: '', signal: null };

describe('the closing call', () => {
  it(
    'is made at every limit of money and tokens, whatever was said before, and costs no more than the run may',
    () => {
      const stories = fc.record({
        spend: fc.integer({ min: 1, max: 200_000 }),
        tokens: fc.integer({ min: 2_000, max: 100_000 }),
        inputShare: fc.constantFrom(0.2, 0.5, 1),
        turns: fc.array(turn, { minLength: 1, maxLength: 5 }),
        agent,
      });
      fc.assert(
        fc.property(stories, (of) => {
          const spec = Object.fromEntries(Object.entries(of.agent).filter(([, value]) => value !== undefined));
          const definition = definitionWith(tools, { ...spec, reflection: { every: 4 }, compression: { every: 6 } });
          const spendNanoUsd = (BigInt(of.spend) * price).toString();
          const first = startOf(started({ steps: 100, toolCalls: 200, tokens: of.tokens, spendNanoUsd }));
          const gateway = { spent: 0n, inputShare: of.inputShare };
          const state = play(first, { definition, turns: of.turns, gateway });
          const paused = pauseOf(state);
          expect(['max_spend', 'max_tokens']).toContain(paused?.stopReason);
          expect(totalsOf(state).costNanoUsd).toBeLessThanOrEqual(BigInt(spendNanoUsd));
          const thoughts = state.turns.flatMap(({ thought: said }) => said ?? []);
          // Too little even for the question alone is the one case without: then nothing was said before, either.
          const hasSpoken = thoughts.some(({ outcome }) => outcome === 'reply');
          expect(paused?.answer).toBe(hasSpoken ? 'Best so far.' : null);
          const failed = thoughts.filter(({ purpose, outcome }) => purpose === 'conclude' && outcome === 'failed');
          expect(failed.length).toBeLessThanOrEqual(1);
        }),
        { numRuns: cases },
      );
    },
    cases * 200,
  );

  const definition = definitionWith(tools, { reflection: { every: 100 } });
  const closing = { m: 1, purpose: 'conclude' as const, closing: 'max_spend' as const };
  const refused = (closingTokens: number) =>
    thought(1, { outcome: 'failed', error: { code: 'budget_exceeded', message: 'no money', closingTokens } });
  const looked = (limits = {}) => {
    const first = stateOf(started(limits), thought(0, { text: 'Looking.', calls: [call('search')] }));
    const acted = decide(first, definition, startMs).flatMap((action) =>
      action.type === 'write' ? [action.fact] : [],
    );
    return [...acted, observed(0, 0, { data: big })].reduce<RunState>((so, fact) => evolve(so, fact) ?? so, first);
  };

  it('is as long as what is left allows', () => {
    const lengths = [100_000, 6_000, 3_000].map((closingTokens) => {
      const state = evolve(looked(), refused(closingTokens)) ?? looked();
      const prompt = closingPromptOf(state, definition, closing);
      const bound = inputTokensMax({ messages: prompt?.messages ?? [], tools: [] });
      expect(bound).toBeLessThanOrEqual(closingTokens);
      expect(prompt?.messages[1]?.content).toBe('Why?');
      return bound;
    });
    expect(lengths).toEqual(lengths.toSorted((a, b) => b - a));
    expect(new Set(lengths).size).toBe(3);
  });

  it('keeps results in their labelled envelope when it is shortened', () => {
    const state = evolve(looked(), refused(3_000)) ?? looked();
    const work = closingPromptOf(state, definition, closing)?.messages[2]?.content ?? '';
    expect(work).toContain('Action: search {}');
    const envelope = JSON.parse(/^Observation: (.*)$/m.exec(work)?.[1] ?? '{}') as object;
    expect(envelope).toMatchObject({ status: 'ok', truncated: true, source: 'tool:search', trust: 'untrusted' });
  });

  it('is shortened where tokens are short, too', () => {
    const state = looked({ tokens: 2_500 });
    expect(decide(state, definition, startMs)[0]).toMatchObject({ purpose: 'conclude', closing: 'max_tokens' });
    const work = thinkWorkOf(state, { definition, call: { ...closing, closing: 'max_tokens' }, nowMs: startMs });
    expect(JSON.stringify(work.messages)).toContain('characters left out');
  });

  it('is made once more with less when the first was refused for money, and not a third time', () => {
    const state = looked({ steps: 1 });
    expect(decide(state, definition, startMs)[0]).toMatchObject({ m: 1, purpose: 'conclude', closing: 'max_steps' });
    const failed = (m: number) => ({
      ...refused(3_000),
      m,
      purpose: 'conclude' as const,
      closing: 'max_steps' as const,
    });
    const once = evolve(state, failed(1)) ?? state;
    expect(decide(once, definition, startMs)[0]).toMatchObject({ m: 2, purpose: 'conclude', closing: 'max_steps' });
    const twice = evolve(once, failed(2)) ?? once;
    expect(decide(twice, definition, startMs)[0]).toMatchObject({ fact: { kind: 'paused', stopReason: 'max_steps' } });
  });

  it('may take no less than what is kept back for it', () => {
    const { inputTokensMax: kept } = reserveOf(looked(), definition);
    const state = evolve(looked(), refused(kept)) ?? looked();
    expect(closingPromptOf(state, definition, closing)).toBeDefined();
  });
});

describe('a reply that money or tokens have cut', () => {
  const definition = definitionWith(tools);
  it.each([
    ['spend', 'max_spend'],
    ['tokens', 'max_tokens'],
  ] as const)('by %s is no final answer: the run closes with %s', (cutBy, closing) => {
    const cut = thought(0, { text: 'The reason is th', finishReason: 'length', cutBy });
    const state = stateOf(started(), cut);
    expect(decide(state, definition, startMs)[0]).toMatchObject({ type: 'think', purpose: 'conclude', closing });
    const silent = thought(1, {
      purpose: 'conclude',
      closing,
      outcome: 'failed',
      error: { code: 'model_unavailable', message: 'down' },
    });
    const stop = decide(stateOf(started(), cut, silent), definition, startMs)[0];
    expect(stop).toMatchObject({ fact: { stopReason: closing, answer: 'The reason is th', partial: true } });
  });

  it('is none at the end of a plan, either', () => {
    const planned = definitionWith(tools, { strategy: 'single-call' });
    const looked = [thought(0, { calls: [call('nothing')] }), observed(0, 0, { status: 'denied' })];
    const cut = thought(1, {
      purpose: 'conclude',
      closing: 'final_answer',
      text: 'So',
      finishReason: 'length',
      cutBy: 'spend',
    });
    const acted = decide(stateOf(started(), looked[0] as Thought), planned, startMs).flatMap((action) =>
      action.type === 'write' ? [action.fact] : [],
    );
    const state = stateOf(started(), looked[0] as Thought, ...acted, cut);
    expect(decide(state, planned, startMs)[0]).toMatchObject({ purpose: 'conclude', closing: 'max_spend' });
  });
});
