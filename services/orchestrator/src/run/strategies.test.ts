/** How a run goes about its task: purposes of thoughts, strategies, protocols, structured answers, what is left out. */
import { describe, expect, it } from 'vitest';
import { wordNames, type Definition, type Fact } from '@pawl/contracts';
import { decide } from './decide.ts';
import { messagesOf, offeredToolsOf } from './prompt.ts';
import { parsePlan, planOf } from './plan.ts';
import { parseReply, protocolBreach } from './reply.ts';
import { holds } from './rules.ts';
import { evolve, startOf, type RunState } from './state.ts';
import { call, definitionWith, observed, signalled, started, startMs, thought } from './story.suite.ts';
import { totalsOf } from './totals.ts';
import { wordsOf } from './words/words.ts';
import { thinkWorkOf } from './work.ts';

const tools = [{ name: 'search' }, { name: 'draw' }];

/** A player of the other services: goes through a run, turn by turn, with the thoughts that it is given. */
function tell(definition: Definition, thoughts: Parameters<typeof thought>[1][], first = started()): RunState {
  let state = startOf(first);
  const take = (fact: Fact) => (state = evolve(state, fact) ?? state);
  for (const of of thoughts) {
    const [asked] = decide(state, definition, startMs);
    if (asked?.type !== 'think') throw new Error(`the run asks for ${JSON.stringify(asked)}`);
    take(thought(asked.m, { purpose: asked.purpose, ...(asked.closing ? { closing: asked.closing } : {}), ...of }));
    for (let open = pending(state, definition); open.length > 0; open = pending(state, definition)) open.forEach(take);
  }
  return state;
}

function pending(state: RunState, definition: Definition): Fact[] {
  return decide(state, definition, startMs).flatMap((action) => {
    if (action.type === 'write') return [action.fact];
    if (action.type !== 'act') return [];
    const data = JSON.stringify({ m: action.m, i: action.call.i });
    return [{ ...observed(action.m, action.call.i, { data }), tool: action.call.tool }];
  });
}

const look = (q: number) => ({ text: `Looking at ${q}.`, calls: [call('search', { q })] });
const nextCallOf = (state: RunState, definition: Definition) => {
  const next = nextOf(state, definition);
  if (next?.type !== 'think') throw new Error('no model is asked');
  return next;
};
const nextOf = (state: RunState, definition: Definition) => decide(state, definition, startMs)[0];

describe('reflection', () => {
  const definition = definitionWith(tools, { compression: { every: 100 } });

  it('comes after every three steps and is no step itself', () => {
    const state = tell(definition, [look(1), look(2), look(3)]);
    expect(nextOf(state, definition)).toMatchObject({ purpose: 'reflect', m: 3 });
    const reviewed = tell(definition, [look(1), look(2), look(3), { text: 'On the right way.' }]);
    expect(nextOf(reviewed, definition)).toMatchObject({ purpose: 'think', m: 4 });
    expect(totalsOf(reviewed).steps).toBe(3);
    expect(messagesOf(reviewed, definition, { call: { m: 4, purpose: 'think' } }).at(-1)?.content).toBe(
      'On the right way.',
    );
  });

  it('is left out where thoughts are hidden', () => {
    const hidden = definitionWith(tools, { thoughts: 'hidden', compression: { every: 100 } });
    expect(nextOf(tell(hidden, [look(1), look(2), look(3)]), hidden)).toMatchObject({ purpose: 'think' });
  });
});

describe('compression', () => {
  const definition = definitionWith(tools, { reflection: { every: 100 }, compression: { every: 2, tokens: 250 } });

  it('replaces the detailed turns with a summary; facts stay', () => {
    const state = tell(definition, [look(1), look(2)]);
    expect(nextOf(state, definition)).toMatchObject({ purpose: 'summarize' });
    const asked = messagesOf(state, definition, { call: { m: 2, purpose: 'summarize' } });
    expect(asked.at(-1)?.content).toContain('250 tokens');
    const summed = tell(definition, [look(1), look(2), { text: 'Two looks, nothing odd.' }]);
    const messages = messagesOf(summed, definition, { call: { m: 3, purpose: 'think' } });
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'user']);
    expect(messages.at(-1)?.content).toContain('Two looks, nothing odd.');
    expect(summed.turns[0]?.observed[0]).toBeDefined();
  });

  it('keeps the prompt from growing with the run', () => {
    const rounds = Array.from({ length: 9 }, (_, n) => [look(2 * n), look(2 * n + 1), { text: 'Summary.' }]).flat();
    const long = tell(definition, rounds, started({ steps: 100, toolCalls: 100, tokens: 1_000_000 }));
    expect(messagesOf(long, definition, { call: { m: 27, purpose: 'think' } })).toHaveLength(3);
  });
});

describe('plan-execute', () => {
  const definition = definitionWith(tools, { strategy: 'plan-execute', models: { think: 'fast', plan: 'smart' } });
  const plan = { text: '1. Look at sales\n2) Look at orders' };

  it('plans with its own model, ticks off items, and concludes', () => {
    const planned = tell(definition, [plan]);
    expect(thinkWorkOf(startOf(started()), { definition, call: { m: 0, purpose: 'plan' }, nowMs: startMs }).route).toBe(
      'smart',
    );
    expect(nextOf(planned, definition)).toMatchObject({ purpose: 'think', m: 1 });
    const once = tell(definition, [plan, look(1)]);
    expect(planOf(once, 2)?.items).toEqual([
      { text: 'Look at sales', isDone: true },
      { text: 'Look at orders', isDone: false },
    ]);
    expect(messagesOf(once, definition, { call: { m: 2, purpose: 'think' } }).at(-1)?.content).toBe(
      '1. [x] Look at sales\n2. [ ] Look at orders\n→ Look at orders',
    );
    const twice = tell(definition, [plan, look(1), look(2)]);
    expect(nextOf(twice, definition)).toMatchObject({ purpose: 'conclude', closing: 'final_answer' });
    expect(tell(definition, [plan, look(1), look(2), { text: 'All fine.' }]).ended).toMatchObject({
      stopReason: 'final_answer',
      answer: 'All fine.',
      partial: false,
    });
  });

  it('plans again on a surprise', () => {
    const surprised = tell(definition, [plan, { calls: [call('nothing')] }]);
    expect(nextOf(surprised, definition)).toMatchObject({ purpose: 'plan', m: 2 });
    const replanned = tell(definition, [plan, { calls: [call('nothing')] }, { text: '1. Ask somebody' }]);
    expect(planOf(replanned, 3)?.items).toEqual([{ text: 'Ask somebody', isDone: false }]);
  });

  it('takes plain lines for a plan where there are no numbers', () => {
    expect(parsePlan('look\n\ntell')).toEqual(['look', 'tell']);
  });
});

describe('single-call', () => {
  const definition = definitionWith(tools, { strategy: 'single-call' });

  it('makes one round of calls and then answers', () => {
    const state = tell(definition, [look(1)]);
    expect(nextOf(state, definition)).toMatchObject({ purpose: 'conclude', closing: 'final_answer' });
    expect(tell(definition, [look(1), { text: 'So it is.' }]).ended).toMatchObject({
      stopReason: 'final_answer',
      answer: 'So it is.',
    });
  });

  it('answers at once when it needs no tool', () => {
    expect(tell(definition, [{ text: '2' }]).ended).toMatchObject({ stopReason: 'final_answer', steps: 1 });
  });
});

describe('the text protocol', () => {
  const definition = definitionWith(tools, { toolCalling: 'text', reflection: { every: 100 } });

  it.each([
    [
      'Thought: I look.\nAction: {"tool": "search", "args": {"q": 1}}',
      { text: 'I look.', calls: [{ id: '', tool: 'search', args: '{"q":1}' }] },
    ],
    ['Action: ```json\n{"tool": "search"}\n```', { text: '', calls: [{ id: '', tool: 'search', args: '{}' }] }],
    ['Thought: done.\nFinal Answer: 42\nindeed', { text: '42\nindeed', calls: [] }],
  ])('reads %j', (text, reply) => {
    expect(parseReply(text)).toEqual(reply);
  });

  it.each(['I think so.', 'Action: search(1)', 'Action: {"tool": 7}', ''])(
    'takes %j for a breach that can be corrected',
    (text) => {
      expect(parseReply(text).calls[0]?.tool).toBe(protocolBreach);
    },
  );

  it('describes the tools in words, offers none, and gives results as messages', () => {
    const state = tell(definition, [{ text: 'Thought: hm.\nAction: {"tool": "search", "args": {"q": 1}}' }]);
    const messages = messagesOf(state, definition, { call: { m: 1, purpose: 'think' } });
    expect(messages[0]?.content).toContain('"name":"search"');
    expect(offeredToolsOf(state, definition, 1)).toEqual([]);
    expect(messages.at(-1)).toMatchObject({
      role: 'user',
      content: expect.stringMatching(/^Observation: \{"status":"ok"/),
    });
  });

  it('corrects a breach instead of failing', () => {
    const state = tell(definition, [{ text: 'Let me see.' }]);
    expect(state.turns[0]?.observed[0]?.observation).toMatchObject({
      status: 'error',
      suggestion: expect.stringContaining('Final Answer'),
    });
    expect(nextOf(state, definition)).toMatchObject({ purpose: 'think', m: 1 });
  });

  it('ends with the answer alone', () => {
    expect(tell(definition, [{ text: 'Thought: easy.\nFinal Answer: 42' }]).ended).toMatchObject({ answer: '42' });
  });

  it('closes with the answer alone, too, and has no action for a best answer', () => {
    const asked = { text: 'Thought: I look.\nAction: {"tool": "search", "args": {}}' };
    const closed = tell(definition, [asked, { text: 'Thought: well.\nFinal Answer: 42' }], started({ steps: 1 }));
    expect(closed.pauses[0]).toMatchObject({ stopReason: 'max_steps', answer: '42' });
    const silent = tell(definition, [asked, { text: '' }], started({ steps: 1 }));
    expect(silent.pauses[0]).toMatchObject({ stopReason: 'max_steps', answer: 'I look.' });
  });

  it('keeps every digit of an action', () => {
    const args = '{"id":9007199254740993}';
    expect(parseReply(`Action: {"tool": "search", "args": ${args}}`).calls[0]?.args).toBe(args);
  });

  it('reads a reply of blank lines alone in a moment', () => {
    const startedAtMs = performance.now();
    expect(parseReply('\n'.repeat(200_000)).calls[0]?.tool).toBe(protocolBreach);
    expect(performance.now() - startedAtMs).toBeLessThan(10_000);
  });
});

describe('a structured answer', () => {
  const schema = {
    type: 'object',
    properties: { total: { type: 'integer' } },
    required: ['total'],
    additionalProperties: false,
  };
  const definition = definitionWith(tools, { answer: { schema } });

  it('is taken when it fits, without what models put around it', () => {
    expect(tell(definition, [{ text: '```json\n{"total": 3}\n```' }]).ended).toMatchObject({
      stopReason: 'final_answer',
      answer: '{"total": 3}',
    });
  });

  it('is asked for again with what is wrong, twice, and then the run stops with the raw text', () => {
    const state = tell(definition, [{ text: '{"total": "3"}' }]);
    expect(messagesOf(state, definition, { call: { m: 1, purpose: 'think' } }).at(-1)?.content).toContain(
      '/total must be integer',
    );
    expect(tell(definition, [{ text: 'no' }, { text: '{"total": 4}' }]).ended).toMatchObject({
      answer: '{"total": 4}',
    });
    const stuck = tell(definition, [{ text: 'no' }, { text: 'no!' }, { text: 'no!!' }]);
    expect(stuck.pauses[0]).toMatchObject({ stopReason: 'invalid_answer', answer: 'no!!', partial: true });
  });

  it.each([
    ['plan-execute', [{ text: '1. Look' }, look(1)]],
    ['single-call', [look(1)]],
  ] as const)('is asked for in the same way at the end of %s', (strategy, before) => {
    const strict = definitionWith(tools, { strategy, answer: { schema } });
    const told = tell(strict, [...before, { text: 'Four.' }]);
    expect(nextOf(told, strict)).toMatchObject({ purpose: 'conclude', closing: 'final_answer' });
    expect(messagesOf(told, strict, { call: nextCallOf(told, strict) }).at(-1)?.content).toContain('not JSON');
    const mended = tell(strict, [...before, { text: 'Four.' }, { text: '{"total": 4}' }]);
    expect(mended.ended).toMatchObject({ stopReason: 'final_answer', answer: '{"total": 4}' });
    const stuck = tell(strict, [...before, { text: 'no' }, { text: 'no!' }, { text: 'no!!' }]);
    expect(stuck.pauses[0]).toMatchObject({ stopReason: 'invalid_answer', answer: 'no!!' });
  });

  it('is asked for in the same way of direct_answer', () => {
    const direct = definitionWith([...tools, { name: 'finish', builtin: { name: 'direct_answer' } }], {
      answer: { schema },
    });
    const finish = (answer: string) => ({ calls: [call('finish', { answer })] });
    const told = tell(direct, [finish('Four.')]);
    expect(told.turns[0]?.observed[0]?.observation).toMatchObject({ status: 'error', errorCode: 'invalid_arguments' });
    expect(tell(direct, [finish('Four.'), finish('{"total": 4}')]).ended).toMatchObject({ answer: '{"total": 4}' });
    const stuck = tell(direct, [finish('no'), finish('no!'), finish('no!!')]);
    expect(stuck.pauses[0]).toMatchObject({ stopReason: 'invalid_answer', answer: 'no!!' });
  });
});

describe('direct_answer', () => {
  it('ends the run with its text, and what stands beside it is not done', () => {
    const definition = definitionWith([...tools, { name: 'finish', builtin: { name: 'direct_answer' } }]);
    const state = tell(definition, [{ calls: [call('finish', { answer: '2' }), call('search')] }]);
    expect(state.ended).toMatchObject({ stopReason: 'final_answer', answer: '2', toolCalls: 0 });
    expect(state.turns[0]?.observed[1]?.observation.status).toBe('denied');
  });

  it('ends nothing when its arguments are broken, or when it has not seen the newest signal', () => {
    const definition = definitionWith([...tools, { name: 'finish', builtin: { name: 'direct_answer' } }]);
    expect(nextOf(tell(definition, [{ calls: [call('finish', '{"answer":"4')] }]), definition)).toMatchObject({
      purpose: 'think',
      m: 1,
    });
    const told = evolve(startOf(started()), signalled('s1', 'No, the other one.')) ?? startOf(started());
    const late = evolve(told, thought(0, { signalsSeen: 0, calls: [call('finish', { answer: 'This.' })] })) ?? told;
    const settled = pending(late, definition).reduce<RunState>((so, fact) => evolve(so, fact) ?? so, late);
    const next = pending(settled, definition).reduce<RunState>((so, fact) => evolve(so, fact) ?? so, settled);
    expect(nextOf(next, definition)).toMatchObject({ purpose: 'think', m: 1 });
  });
});

describe('stages', () => {
  const definition = definitionWith(tools, {
    stages: [
      { name: 'query', tools: ['search'] },
      { name: 'visualize', tools: ['draw'], enterWhen: '"search" in tools && steps > 1' },
    ],
    reflection: { every: 100 },
  });

  it('offer only their tools, and deny others with what is allowed', () => {
    const state = tell(definition, [{ calls: [call('draw')] }]);
    expect(offeredToolsOf(state, definition, 1).map(({ name }) => name)).toEqual(['search']);
    expect(state.turns[0]?.observed[0]?.observation).toMatchObject({
      errorCode: 'tool_not_allowed',
      suggestion: 'Use one of: search.',
    });
  });

  it('are entered when their condition holds, and not left again', () => {
    const state = tell(definition, [look(1), look(2)]);
    expect(offeredToolsOf(state, definition, 2).map(({ name }) => name)).toEqual(['draw']);
    const back = tell(definition, [look(1), look(2), look(3)]);
    expect(back.turns[2]?.observed[0]?.observation.errorCode).toBe('tool_not_allowed');
  });
});

describe('conditions', () => {
  it('give the careful answer where they can’t be told', () => {
    expect(holds('args.amount > 100', { args: {} }, true)).toBe(true);
    expect(holds('args.amount > 100', { args: { amount: 250.5 } }, false)).toBe(true);
    expect(holds('args.amount', { args: { amount: 1 } }, false)).toBe(false);
  });
});

describe('the words of the loop', () => {
  it.each(['en', 'zh', 'pt'] as const)('are all there in %s, with the marks that are filled in', (language) => {
    const words = wordsOf({ instructions: 'x', models: { think: 'smart' }, language });
    for (const name of wordNames) expect(words[name].length).toBeGreaterThan(10);
    expect(words.compression).toContain('{tokens}');
    expect(words.closing).toContain('{why}');
    expect(words.textProtocol).toContain('{tools}');
    expect(words.repair).toContain('{mistake}');
    expect(words.repair).toContain('{schema}');
    expect(words.answerFormat).toContain('{schema}');
  });

  it('can be replaced by the agent', () => {
    const spec = { instructions: 'x', models: { think: 'smart' }, words: { reflection: 'Think again.' } };
    expect(wordsOf(spec).reflection).toBe('Think again.');
  });
});

describe('a fork', () => {
  const definition = definitionWith([...tools, { name: 'pay', effect: 'write' as const }], {
    reflection: { every: 100 },
  });

  it('takes over what was observed, pays nothing for it, and writes nothing', () => {
    const original = tell(definition, [look(1), look(2)]);
    const seed = original.turns.flatMap(({ thought: said, acted, observed: results }) => [
      ...(said ? [said] : []),
      ...(acted ? [acted] : []),
      ...Object.values(results),
    ]);
    const fork = startOf(
      started({}, { seed, areWritesBlocked: true, forkOf: { runId: original.started.runId, fromStep: 3 } }),
    );
    expect(totalsOf(fork)).toEqual({ steps: 0, toolCalls: 0, tokens: 0, costNanoUsd: 0n });
    expect(nextOf(fork, definition)).toMatchObject({ purpose: 'think', m: 2 });
    const again = evolve(fork, thought(2, { calls: [call('search', { q: 1 }), call('pay', { to: 'a' })] })) ?? fork;
    const written = decide(again, definition, startMs).flatMap((action) =>
      action.type === 'write' && action.fact.kind === 'observed' ? [action.fact.observation] : [],
    );
    expect(written.map(({ status }) => status)).toEqual(['duplicate', 'denied']);
  });
});

describe('the conversation', () => {
  it('only grows at its end', () => {
    const definition = definitionWith(tools, { compression: { every: 100 } });
    const story = [look(1), look(2), look(3), { text: 'Fine so far.' }, look(4), look(5)];
    for (let length = 1; length < story.length; length += 1) {
      const before = tell(definition, story.slice(0, length));
      const later = tell(definition, story.slice(0, length + 1));
      const call1 = { m: length, purpose: 'think' as const };
      const shared = messagesOf(before, definition, { call: call1 });
      expect(messagesOf(later, definition, { call: { ...call1, m: length + 1 } }).slice(0, shared.length)).toEqual(
        shared,
      );
    }
  });

  it('begins with the session so far', () => {
    const first = started({}, { history: [{ input: 'Why?', answer: 'Because.' }] });
    const messages = messagesOf(startOf(first), definitionWith(tools), { call: { m: 0, purpose: 'think' } });
    expect(messages.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'user']);
  });
});
