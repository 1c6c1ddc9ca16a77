/** Whatever happens and in whatever order: the run ends within its limits (I8) and its log is a legal story (I2). */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { slotOf, type Definition, type Fact } from '@pawl/contracts';
import { decide, type Action } from './decide.ts';
import { messagesOf } from './prompt.ts';
import { call, cancelled, definitionWith, observed, started, startMs, thought } from './story.suite.ts';
import { evolve, type RunState } from './state.ts';

const cases = process.env['PAWL_TEST_FULL'] ? 100_000 : 5_000;
const definition: Definition = definitionWith([{ name: 'search' }, { name: 'refund', roles: ['support'] }]);

/** What the world does next: a number picks among the things that are possible. */
const moves = fc.array(
  fc.record({
    pick: fc.nat(),
    passMs: fc.integer({ min: 0, max: 2_000 }),
    what: fc.constantFrom('work', 'work', 'work', 'write', 'write', 'cancel', 'lose'),
  }),
  { maxLength: 200 },
);
const limits = fc.record({
  steps: fc.integer({ min: 1, max: 6 }),
  toolCalls: fc.integer({ min: 0, max: 6 }),
  tokens: fc.integer({ min: 100, max: 20_000 }),
  wallClockMs: fc.integer({ min: 1_000, max: 60_000 }),
  spendNanoUsd: fc.integer({ min: 1, max: 20_000 }).map(String),
});

type World = { state: RunState; slots: Map<string, Fact>; nowMs: number };

function write(world: World, fact: Fact): void {
  const slot = slotOf(fact);
  if (world.slots.has(slot)) return;
  world.slots.set(slot, fact);
  world.state = evolve(world.state, fact) ?? world.state;
}

/** What a service makes of a piece of work. */
function resultOf(action: Action & { type: 'think' | 'act' }, pick: number): Fact {
  if (action.type === 'act') {
    const status = (['ok', 'error', 'timeout', 'in_doubt', 'cancelled'] as const)[pick % 5] ?? 'ok';
    return observed(action.m, action.call.i, { status });
  }
  const purpose = { purpose: action.purpose, ...(action.closing ? { closing: action.closing } : {}) };
  const kinds = [
    thought(action.m, { ...purpose, text: 'The answer.' }),
    thought(action.m, { ...purpose, text: '' }),
    thought(action.m, { ...purpose, calls: [call('search', { pick })] }),
    thought(action.m, { ...purpose, text: 'look', calls: [call('search'), call('nothing'), call('refund')] }),
    thought(action.m, { ...purpose, calls: [call('search', '{"a":'), call('search', { pick })] }),
    thought(action.m, { ...purpose, calls: [call('search'), call('search'), call('search'), call('search')] }),
    thought(action.m, { ...purpose, outcome: 'failed', error: { code: 'model_unavailable', message: 'down' } }),
    thought(action.m, { ...purpose, outcome: 'failed', error: { code: 'budget_exceeded', message: 'no money' } }),
  ];
  return kinds[pick % kinds.length] ?? kinds[0] ?? thought(action.m);
}

function play(world: World, script: { pick: number; passMs: number; what: string }[]): void {
  for (const move of script) {
    world.nowMs += move.passMs;
    const actions = decide(world.state, definition, world.nowMs);
    const writes = actions.filter((action) => action.type === 'write');
    const works = actions.filter((action) => action.type === 'think' || action.type === 'act');
    if (move.what === 'cancel' && move.pick % 20 === 0) write(world, cancelled(world.nowMs - startMs));
    const chosen = writes[move.pick % Math.max(1, writes.length)];
    if (move.what === 'write' && chosen) write(world, chosen.fact);
    const work = works[move.pick % Math.max(1, works.length)];
    if (move.what === 'work' && work) write(world, resultOf(work, move.pick));
  }
}

/** From here on everybody does their duty; the run has to come to its end. */
function finish(world: World): number {
  for (let round = 0; round < 200; round += 1) {
    if (world.state.ended) return round;
    const actions = decide(world.state, definition, world.nowMs);
    for (const action of actions) {
      if (action.type === 'write') write(world, action.fact);
      if (action.type === 'think' || action.type === 'act') write(world, resultOf(action, round * 7 + 2));
    }
    const wakes = actions.flatMap((action) => (action.type === 'wake' ? [action.atMs] : []));
    if (actions.length === wakes.length && wakes.length > 0) world.nowMs = Math.max(world.nowMs, Math.min(...wakes));
  }
  return Number.POSITIVE_INFINITY;
}

describe('any story', () => {
  it('ends within its limits and answers every call exactly once', () => {
    fc.assert(
      fc.property(limits, moves, (own, script) => {
        const first = started(own);
        const world: World = { state: { started: first, turns: [] }, slots: new Map(), nowMs: startMs };
        play(world, script);
        expect(finish(world)).toBeLessThan(200);
        const { ended, turns } = world.state;
        expect(ended?.steps).toBeLessThanOrEqual(own.steps);
        expect(ended?.toolCalls).toBeLessThanOrEqual(own.toolCalls);
        for (const turn of turns) {
          const calls = turn.thought?.calls ?? [];
          expect(Object.keys(turn.observed)).toHaveLength(calls.length);
        }
        expect(decide(world.state, definition, world.nowMs)).toEqual([]);
        checkMessages(world.state);
      }),
      { numRuns: cases },
    );
  });

  it('says the same however often it is asked', () => {
    fc.assert(
      fc.property(limits, moves, (own, script) => {
        const world: World = { state: { started: started(own), turns: [] }, slots: new Map(), nowMs: startMs };
        play(world, script);
        expect(decide(world.state, definition, world.nowMs)).toEqual(decide(world.state, definition, world.nowMs));
      }),
      { numRuns: cases / 5 },
    );
  });
});

/** What strict providers check: every call is answered, right behind its thought, in its order. */
function checkMessages(state: RunState): void {
  const messages = messagesOf(state, definition, undefined);
  let awaited: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      expect(message.tool_call_id).toBe(awaited.shift());
      expect(() => JSON.parse(message.content)).not.toThrow();
    } else {
      expect(awaited).toEqual([]);
      awaited = message.role === 'assistant' ? (message.tool_calls ?? []).map(({ id }) => id) : [];
    }
  }
  expect(awaited).toEqual([]);
}
