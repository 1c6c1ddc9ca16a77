import { describe, expect, it } from 'vitest';
import type { Fact, StopReason, ToolCall } from '@pawl/contracts';
import { decide } from './decide.ts';
import { circlingBefore, failuresInARow, isWithoutNews } from './guards.ts';
import { messagesOf } from './prompt.ts';
import { evolve, type RunState } from './state.ts';
import { call, definitionWith, observed, resumed, started, startMs, stateOf, thought } from './story.suite.ts';
import { english } from './words/english.ts';

const spec = { reflection: { every: 100 }, compression: { every: 100 } };
const definition = definitionWith([{ name: 'search' }, { name: 'pay', effect: 'write' }], spec);
const { spec: agent } = definition.agent.object;

/** A run whose steps make these calls, one each, every result being new unless it is given. */
function steps(
  calls: ToolCall[],
  data: (m: number) => string = (m) => `{"n":${m}}`,
  from: RunState = stateOf(started()),
): RunState {
  return calls.reduce<RunState>((state, asked) => {
    const m = state.turns.length;
    const thinking = evolve(state, thought(m, { text: `step ${m}`, calls: [asked] })) ?? state;
    const written = decide(thinking, definition, startMs + 1_000).flatMap((action) =>
      action.type === 'write' ? [action.fact] : [],
    );
    const facts: Fact[] = [...written, { ...observed(m, 0, { data: data(m) }), tool: asked.tool }];
    return facts.reduce<RunState>((so, fact) => evolve(so, fact) ?? so, thinking);
  }, from);
}

/** A run that has stopped with its closing answer. */
function closed(state: RunState, closing: StopReason): RunState {
  const m = state.turns.length;
  const concluded = evolve(state, thought(m, { purpose: 'conclude', closing, text: 'So far.' })) ?? state;
  return decide(concluded, definition, startMs + 2_000).reduce<RunState>(
    (so, action) => (action.type === 'write' ? (evolve(so, action.fact) ?? so) : so),
    concluded,
  );
}

const a = call('pay', { to: 'a' });
const b = call('pay', { to: 'b' });
const next = (state: RunState) => decide(state, definition, startMs + 1_000)[0];

describe('the same action again', () => {
  it('is told to the model the second time, and ends the run the third', () => {
    expect(circlingBefore(steps([a]), agent, 1)).toBeUndefined();
    expect(circlingBefore(steps([a, a]), agent, 2)).toBe('intervene');
    expect(next(steps([a, a, a]))).toMatchObject({ purpose: 'conclude', closing: 'repeated_action' });
  });

  it('is forgiven when the model changes its mind', () => {
    expect(next(steps([a, a, b]))).toMatchObject({ purpose: 'think' });
  });

  it('doesn’t mind the order of keys', () => {
    const turned = [call('pay', '{"x":1,"y":2}'), call('pay', '{ "y":2, "x":1 }')];
    expect(circlingBefore(steps(turned), agent, 2)).toBe('intervene');
  });

  it('puts the intervention right before the thought that has to change', () => {
    const messages = messagesOf(steps([a, a]), definition, { call: { m: 2, purpose: 'think' } });
    expect(messages.at(-1)).toEqual({ role: 'user', content: english.intervention });
  });

  it('catches a swing between two actions', () => {
    expect(circlingBefore(steps([a, b, a, b]), agent, 4)).toBe('intervene');
    expect(next(steps([a, b, a, b, a]))).toMatchObject({ closing: 'repeated_action' });
  });

  it('counts anew when the run is resumed', () => {
    const paused = closed(steps([a, a, a]), 'repeated_action');
    expect(paused.pauses[0]).toMatchObject({ stopReason: 'repeated_action', answer: 'So far.' });
    expect(decide(paused, definition, startMs + 3_000)).toEqual([]);
    const again = evolve(paused, resumed(0, {}, 3_000)) ?? paused;
    expect(next(again)).toMatchObject({ type: 'think', m: 4, purpose: 'think' });
    const repeated = steps([a], undefined, again);
    expect(next(repeated)).toMatchObject({ type: 'think', m: 5, purpose: 'think' });
    expect(circlingBefore(repeated, agent, 5)).toBeUndefined();
  });
});

describe('a read that was made before', () => {
  it('is answered from history and not executed', () => {
    const same = call('search', { q: 1 });
    const state = steps([same]);
    const again = evolve(state, thought(1, { calls: [call('search', '{ "q": 1 }')] })) ?? state;
    const actions = decide(again, definition, startMs + 1_000);
    expect(actions.some(({ type }) => type === 'act')).toBe(false);
    const answer = actions.flatMap((action) =>
      action.type === 'write' && action.fact.kind === 'observed' ? [action.fact] : [],
    )[0];
    expect(answer?.observation).toMatchObject({ status: 'duplicate', errorCode: 'duplicate_call', data: '{"n":0}' });
  });

  it('is executed again when the first try failed', () => {
    const failed = observed(0, 0, { status: 'error', data: null, errorCode: 'tool_failed' });
    const asked = thought(0, { calls: [call('search', { q: 1 })] });
    const first = stateOf(started(), asked);
    const acted = decide(first, definition, startMs).flatMap((action) =>
      action.type === 'write' ? [action.fact] : [],
    );
    const state = stateOf(started(), asked, ...acted, failed, thought(1, { calls: [call('search', { q: 1 })] }));
    expect(decide(state, definition, startMs).some(({ type }) => type === 'act')).toBe(true);
  });

  it('is executed once when it stands twice in one thought', () => {
    const twin = call('search', { q: 1 });
    const actions = decide(stateOf(started(), thought(0, { calls: [twin, twin] })), definition, startMs);
    expect(actions.filter(({ type }) => type === 'act')).toHaveLength(1);
  });
});

describe('rounds without news', () => {
  it('end the run after three of them', () => {
    const different = [0, 1, 2, 3].map((to) => call('pay', { to }));
    expect(
      isWithoutNews(
        steps(different.slice(0, 3), () => '{"same":1}'),
        agent,
      ),
    ).toBe(false);
    const stale = steps(different, () => '{"same":1}');
    const paused = closed(stale, 'no_new_information');
    const resumedOnce = evolve(paused, resumed(0, {}, 3_000)) ?? paused;
    expect(
      isWithoutNews(
        steps(different.slice(0, 2), () => '{"same":1}', resumedOnce),
        agent,
      ),
    ).toBe(false);
    expect(
      isWithoutNews(
        steps(different.slice(0, 3), () => '{"same":1}', resumedOnce),
        agent,
      ),
    ).toBe(true);
    expect(isWithoutNews(stale, agent)).toBe(true);
    expect(next(stale)).toMatchObject({ purpose: 'conclude', closing: 'no_new_information' });
  });
});

describe('a tool that keeps failing', () => {
  it('has its failures counted since its last success', () => {
    const failing = [0, 1, 2].map((to) => call('pay', { to }));
    const state = steps(failing);
    expect(failuresInARow(state, 'pay', { m: 2, i: 0 })).toBe(0);
  });

  it('gets its alternatives suggested from the third failure on', () => {
    const withOther = definitionWith([{ name: 'search', alternatives: ['lookup'] }, { name: 'lookup' }], spec);
    const facts = [0, 1, 2].flatMap((m) => {
      const asked = thought(m, { calls: [call('search', { m })] });
      const acted = decide(stateOf(started(), asked), withOther, startMs).flatMap((action) =>
        action.type === 'write' && action.fact.kind === 'acted' ? [{ ...action.fact, m }] : [],
      );
      return [
        asked,
        ...acted,
        observed(m, 0, { status: 'error', data: null, errorCode: 'tool_failed', message: 'It failed.' }),
      ];
    });
    const suggestions = messagesOf(stateOf(started(), ...facts), withOther, { call: { m: 3, purpose: 'think' } })
      .filter(({ role }) => role === 'tool')
      .map(({ content }) => (JSON.parse(content ?? '') as { suggestion: string | null }).suggestion);
    expect(suggestions[1]).toBeNull();
    expect(suggestions[2]).toContain('Try lookup instead');
  });
});
