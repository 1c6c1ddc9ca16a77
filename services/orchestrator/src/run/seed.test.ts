import { expect, it } from 'vitest';
import type { Fact } from '@pawl/contracts';
import { decide } from './decide.ts';
import { messagesOf } from './prompt.ts';
import { seedOf } from './seed.ts';
import { evolve, startOf, type RunState } from './state.ts';
import { call, decided, definitionWith, observed, signalled, started, startMs, thought } from './story.suite.ts';

const definition = definitionWith(
  [{ name: 'search' }, { name: 'pay', effect: 'write' }, { name: 'ask', builtin: { name: 'ask_user' } }],
  { approvals: [{ tool: 'pay' }], reflection: { every: 100 } },
);

/** The run after a fact and all that is written because of it. */
function take(state: RunState, fact: Fact): RunState {
  const after = evolve(state, fact) ?? state;
  return decide(after, definition, startMs).reduce<RunState>(
    (so, action) => (action.type === 'write' ? (evolve(so, action.fact) ?? so) : so),
    after,
  );
}

it('gives a fork the same conversation: signals, answers and what people made of calls included', () => {
  const story: Fact[] = [
    signalled('s0', 'Mind the gap.'),
    thought(0, { signalsSeen: 1, calls: [call('ask', { question: 'Which?' }), call('search')] }),
    signalled('s1', 'The blue one.'),
    { ...observed(0, 1), tool: 'search' },
    signalled('s2', 'And hurry.'),
    thought(1, { signalsSeen: 3, calls: [call('pay', { to: 'a' })] }),
    decided(1, 0, { decision: 'edit', args: '{"to":"b"}' }),
    { ...observed(1, 0), tool: 'pay' },
    signalled('s3', 'Too late for this one.'),
  ];
  const original = story.reduce(take, startOf(started()));
  const fork = startOf(started({}, { seed: seedOf(original, 3) }));
  const next = { call: { m: 2, purpose: 'think' as const } };
  const messages = messagesOf(original, definition, next);
  expect(JSON.stringify(messages)).toContain('other arguments');
  expect(messages.at(-1)?.content).toBe('Too late for this one.');
  expect(messagesOf(fork, definition, next)).toEqual(messages.slice(0, -1));
  expect(messagesOf(startOf(started({}, { seed: seedOf(original, 2) })), definition, next)).toHaveLength(6);
});
