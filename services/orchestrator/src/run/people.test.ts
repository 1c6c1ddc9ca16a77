/** Approvals, questions to the user, signals, taint: what people have a say in. */
import { describe, expect, it } from 'vitest';
import { fingerprintJson, type Definition, type Fact } from '@pawl/contracts';
import type { Action } from './action.ts';
import { decide } from './decide.ts';
import { deadlineMs } from './limits.ts';
import { messagesOf } from './prompt.ts';
import { evolve, type RunState } from './state.ts';
import {
  cancelled,
  call,
  decided,
  definitionWith,
  observed,
  signalled,
  started,
  startMs,
  stateOf,
  thought,
} from './story.suite.ts';
import { viewOf } from './view.ts';

const tools = [
  { name: 'search' },
  { name: 'refund', effect: 'write' as const },
  { name: 'ask', builtin: { name: 'ask_user' as const } },
];
const definition = definitionWith(tools, {
  approvals: [{ tool: 'refund', when: 'args.amount > 100', expiresIn: '10s' }],
});

function after(state: RunState, facts: Fact[]): RunState {
  return facts.reduce<RunState>((so, fact) => evolve(so, fact) ?? so, state);
}

/** The state once everything that is to be written at a time is written. */
function settled(state: RunState, offsetMs = 0, of: Definition = definition): RunState {
  const writes = decide(state, of, startMs + offsetMs).flatMap((action) =>
    action.type === 'write' ? [action.fact] : [],
  );
  return after(state, writes);
}

const asking = (...calls: ReturnType<typeof call>[]) => settled(stateOf(started(), thought(0, { calls })));
const actsOf = (actions: Action[]) => actions.filter((action) => action.type === 'act');
const at = (state: RunState, offsetMs: number) => decide(state, definition, startMs + offsetMs);

describe('arguments beyond what anybody could look at', () => {
  const deep = `{"amount":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
  const long = JSON.stringify({ amount: 250, note: 'x'.repeat(1_000_000) });

  it.each([
    ['nested deeply', deep],
    ['long', long],
  ])('%s: the call is answered with what is wrong, and the run can still be shown', (_what, args) => {
    const state = asking(call('refund', args), call('search', args), call('search', { q: 1 }));
    const [refund, search, other] = state.turns[0]?.acted?.calls ?? [];
    expect([refund?.admission, search?.admission, other?.admission]).toEqual(['answered', 'answered', 'run']);
    expect(state.turns[0]?.observed[0]?.observation).toMatchObject({ status: 'error', errorCode: 'invalid_arguments' });
    expect(JSON.stringify(viewOf(state)).length).toBeLessThan(10_000);
  });
});

describe('a call that needs approval', () => {
  const gated = asking(call('refund', { amount: 250 }), call('search'));

  it('waits, is listed with its arguments and hash, and lets the others go on', () => {
    expect(actsOf(at(gated, 0)).map((action) => action.call.tool)).toEqual(['search']);
    const waits = { status: 'waiting', stopReason: 'waiting_approval', pending: [{ callId: 'call_0_0' }] };
    expect(viewOf(gated)).toMatchObject({ ...waits, phase: 'act' });
    const waiting = after(gated, [observed(0, 1)]);
    expect(viewOf(waiting)).toMatchObject({
      status: 'waiting',
      phase: 'waiting',
      stopReason: 'waiting_approval',
      pending: [
        { callId: 'call_0_0', args: { amount: 250 }, argsHash: fingerprintJson('{"amount":250}'), kind: 'approval' },
      ],
    });
  });

  it('shows large numbers digit for digit', () => {
    const large = asking(call('refund', '{"amount": 2512292042121000001, "rate": 1.50}'));
    expect(JSON.stringify(viewOf(large).pending[0]?.args)).toBe('{"amount":2512292042121000001,"rate":1.50}');
  });

  it('is not asked for when the condition does not hold', () => {
    expect(actsOf(at(asking(call('refund', { amount: 100 })), 0))).toHaveLength(1);
  });

  it('is asked for when the condition can’t be told', () => {
    expect(viewOf(asking(call('refund', { amount: 'much' }))).status).toBe('waiting');
  });

  it('is executed with exactly what was approved', () => {
    const [act] = actsOf(at(after(gated, [decided(0, 0, { decision: 'approve' })]), 0));
    expect(act).toMatchObject({ args: '{"amount":250}', argsHash: fingerprintJson('{"amount":250}') });
  });

  it('is executed with what a person made of it, and the model is told', () => {
    const edited = after(gated, [decided(0, 0, { decision: 'edit', args: '{"amount":50}' }), observed(0, 1)]);
    expect(actsOf(at(edited, 0))[0]).toMatchObject({
      args: '{"amount":50}',
      argsHash: fingerprintJson('{"amount":50}'),
    });
    const told = messagesOf(after(edited, [observed(0, 0)]), definition, { call: { m: 1, purpose: 'think' } });
    expect(told.find(({ role }) => role === 'tool')?.content).toContain('A person approved this with other arguments');
  });

  it('is not executed when it is denied, and the run goes on with the reason', () => {
    const denied = settled(after(gated, [decided(0, 0, { decision: 'deny', reason: 'too much' }), observed(0, 1)]));
    expect(denied.turns[0]?.observed[0]?.observation).toMatchObject({ status: 'denied', errorCode: 'approval_denied' });
    expect(denied.turns[0]?.observed[0]?.observation.message).toContain('too much');
    expect(at(denied, 0)[0]).toMatchObject({ type: 'think', m: 1 });
  });

  it('takes the first decision and no second one', () => {
    const twice = after(gated, [decided(0, 0, { decision: 'deny' }), decided(0, 0, { decision: 'approve' })]);
    expect(actsOf(at(twice, 0)).map((action) => action.call.i)).toEqual([1]);
  });

  it('expires, and the run with it', () => {
    const waiting = after(gated, [observed(0, 1)]);
    expect(at(waiting, 9_000).some(({ type }) => type === 'expire')).toBe(false);
    expect(at(waiting, 10_001).find(({ type }) => type === 'expire')).toMatchObject({ m: 0, call: { i: 0 } });
    const expired = settled(after(waiting, [decided(0, 0, { decision: 'expire', offsetMs: 10_001 })]), 10_001);
    expect(settled(expired, 10_002).ended).toMatchObject({ stopReason: 'approval_expired' });
  });

  it('stops the clock of the run while it waits', () => {
    const waiting = after(gated, [observed(0, 1)]);
    const usualMs = Date.parse(waiting.started.deadlineAt);
    expect(deadlineMs(waiting, startMs + 600_000)).toBe(usualMs + 600_000);
    const approved = after(waiting, [decided(0, 0, { decision: 'approve', offsetMs: 5_000 })]);
    expect(deadlineMs(approved, startMs + 600_000)).toBe(usualMs + 5_000);
  });

  it('is answered as cancelled when the run is cancelled', () => {
    const state = settled(after(gated, [observed(0, 1), cancelled(100)]), 200);
    expect(state.turns[0]?.observed[0]?.observation.status).toBe('cancelled');
  });
});

describe('taint', () => {
  const careful = definitionWith(tools, { policies: { approveWritesWhenTainted: true } });
  const refund = thought(1, { calls: [call('refund', { amount: 1 })] });
  const read = (trust: 'trusted' | 'untrusted') => {
    const first = settled(stateOf(started(), thought(0, { calls: [call('search')] })), 0, careful);
    return settled(after(first, [{ ...observed(0, 0), trust }, refund]), 0, careful);
  };

  it('asks a person about writes once the run has read what anybody may have written', () => {
    expect(read('untrusted').turns[1]?.acted?.calls[0]).toMatchObject({ admission: 'approval' });
    expect(read('trusted').turns[1]?.acted?.calls[0]).toMatchObject({ admission: 'run' });
  });

  it('comes from the run that asked for this one, too', () => {
    const state = settled(
      stateOf(started({}, { isTainted: true }), thought(0, { calls: [call('refund', { amount: 1 })] })),
      0,
      careful,
    );
    expect(state.turns[0]?.acted?.calls[0]?.admission).toBe('approval');
  });
});

describe('a question to the user', () => {
  const asked = asking(call('ask', { question: 'Which year?' }));

  it('waits with the question, and is answered by the next signal', () => {
    expect(viewOf(asked)).toMatchObject({
      status: 'waiting',
      stopReason: 'waiting_input',
      pending: [{ why: 'Which year?', kind: 'input' }],
    });
    const answered = settled(after(asked, [signalled('s1', '2026')]));
    expect(answered.turns[0]?.observed[0]?.observation).toMatchObject({ status: 'ok', data: '{"answer":"2026"}' });
    expect(at(answered, 0)[0]).toMatchObject({ type: 'think', m: 1 });
    const told = messagesOf(answered, definition, { call: { m: 1, purpose: 'think' } });
    expect(told.filter(({ content }) => content?.includes('2026'))).toHaveLength(1);
  });

  it('is not answered by what was said before it was asked', () => {
    const early = stateOf(
      started(),
      signalled('s0', 'By the way'),
      thought(0, { calls: [call('ask', { question: 'Which?' })] }),
    );
    expect(viewOf(settled(early)).status).toBe('waiting');
  });
});

describe('signals', () => {
  it('are seen by the next thought, in their order, and stay where they were seen', () => {
    const first = stateOf(started(), signalled('s1', 'first'), signalled('s2', 'second'));
    const before = messagesOf(first, definition, { call: { m: 0, purpose: 'think' } });
    expect(before.slice(-2).map(({ content }) => content)).toEqual(['first', 'second']);
    const later = after(first, [thought(0, { signalsSeen: 2, calls: [call('search')] })]);
    const grown = messagesOf(after(settled(later), [observed(0, 0)]), definition, { call: { m: 1, purpose: 'think' } });
    expect(grown.slice(0, before.length)).toEqual(before);
  });

  it('keep a run from ending with an answer that has not seen them', () => {
    const unseen = stateOf(started(), signalled('s1', 'wait'), thought(0, { text: 'Done.', signalsSeen: 0 }));
    expect(at(unseen, 0)[0]).toMatchObject({ type: 'think', m: 1, purpose: 'think' });
    const seen = stateOf(started(), signalled('s1', 'wait'), thought(0, { text: 'Done.', signalsSeen: 1 }));
    expect(settled(seen).ended).toMatchObject({ stopReason: 'final_answer' });
  });
});
