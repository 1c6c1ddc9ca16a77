import { describe, expect, it } from 'vitest';
import type { Fact } from '@pawl/contracts';
import { answerVoid, whyVoid, type ChangedAtMs } from './changed-tools.ts';
import { decide } from './decide.ts';
import { evolve, type RunState } from './state.ts';
import { call, decided, definitionWith, observed, started, startMs, stateOf, thought } from './story.suite.ts';
import { viewOf } from './view.ts';

const mcp = { server: 'bank', tool: 'pay' };
const definition = definitionWith([{ name: 'search' }, { name: 'bank_pay', effect: 'write', mcp }], {
  approvals: [{ tool: 'bank_pay' }, { tool: 'search' }],
});

function after(state: RunState, facts: Fact[]): RunState {
  return facts.reduce<RunState>((so, fact) => evolve(so, fact) ?? so, state);
}

const asked = stateOf(started(), thought(0, { calls: [call('bank_pay', { to: 'ana' }), call('search')] }));
const writes = decide(asked, definition, startMs + 500).flatMap((each) => (each.type === 'write' ? [each.fact] : []));
const waiting = after(asked, writes);
const changedAt =
  (atMs: number): ChangedAtMs =>
  ({ app, server, tool }) =>
    app === 'demo' && server === 'bank' && tool === 'pay' ? startMs + atMs : undefined;
const answers = (state: RunState, atMs: number) =>
  answerVoid(state, { definition, changedAtMs: changedAt(atMs), nowMs: startMs + 9_000 });

describe('I11: a call that waits for approval when its tool becomes another one', () => {
  it('is answered with that, waits no longer, and leaves the others alone', () => {
    const actions = answers(waiting, 600);
    expect(actions).toMatchObject([
      {
        type: 'write',
        fact: { kind: 'observed', m: 0, i: 0, callId: 'call_0_0', observation: { errorCode: 'tool_not_allowed' } },
      },
    ]);
    const facts = actions.flatMap((action) => (action.type === 'write' ? [action.fact] : []));
    const next = after(waiting, facts);
    expect(viewOf(waiting).pending).toHaveLength(2);
    expect(viewOf(next).pending.map(({ tool }) => tool)).toEqual(['search']);
    expect(answers(next, 600)).toEqual([]);
    expect(viewOf(waiting).voided).toBeUndefined();
    const why = expect.stringContaining('has changed what bank_pay is') as string;
    expect(viewOf(next).voided).toEqual([{ callId: 'call_0_0', tool: 'bank_pay', why }]);
  });

  it('says why a decision would be void, in a sentence that names server and tool', () => {
    const from = { definition, changedAtMs: changedAt(600) };
    expect(whyVoid(waiting, { tool: 'bank_pay' }, from)).toMatch(/bank has changed what bank_pay is/);
    expect(whyVoid(waiting, { tool: 'search' }, from)).toBeUndefined();
  });

  it('goes on waiting where the change came before it was asked for', () => {
    expect(answers(waiting, 499)).toEqual([]);
    expect(answerVoid(waiting, { definition, changedAtMs: () => undefined, nowMs: startMs })).toEqual([]);
  });

  it('is left to whoever executes it once it was decided or answered', () => {
    expect(answers(after(waiting, [decided(0, 0, { decision: 'approve' })]), 600)).toEqual([]);
    expect(answers(after(waiting, [observed(0, 0)]), 600)).toEqual([]);
  });
});
