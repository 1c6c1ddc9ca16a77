/** Whatever happens and in whatever order: the run ends within its limits (I8) and its log is a legal story (I2). */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isJson,
  slotOf,
  type AgentSpec,
  type Definition,
  type Fact,
  type SettledLimits,
  type Thought,
} from '@pawl/contracts';
import type { Action } from './action.ts';
import { decide } from './decide.ts';
import { graceMs } from './limits.ts';
import { messagesOf } from './prompt.ts';
import {
  call,
  cancelled,
  decided,
  definitionWith,
  observed,
  resumed,
  signalled,
  started,
  startMs,
  thought,
} from './story.suite.ts';
import { evolve, limitsOf, pauseOf, startOf, type RunState } from './state.ts';
import { totalsOf } from './totals.ts';
import { isWaitingOnly, waitingCalls } from './waiting.ts';

const cases = process.env['PAWL_TEST_FULL'] ? 100_000 : 5_000;
const timeout = cases * 10;

const tools = [
  { name: 'search' },
  { name: 'refund', roles: ['support'] },
  { name: 'pay', effect: 'write' as const },
  { name: 'ask', builtin: { name: 'ask_user' as const } },
  { name: 'finish', builtin: { name: 'direct_answer' as const } },
  { name: 'helper', agent: { name: 'other' } },
];
const approvals: NonNullable<AgentSpec['approvals']>[] = [
  [],
  [{ tool: 'pay', when: 'args.pick > 3', expiresIn: '5s' }],
  [{ tool: 'pay' }],
];
const stages: AgentSpec['stages'][] = [
  undefined,
  [
    { name: 'query', tools: ['search', 'ask'] },
    { name: 'act', tools: ['pay', 'helper', 'finish'], enterWhen: 'steps > 1' },
  ],
];
const specs = fc.record({
  strategy: fc.constantFrom('react' as const, 'react' as const, 'plan-execute' as const, 'single-call' as const),
  approvals: fc.constantFrom(...approvals),
  policies: fc.record({ approveWritesWhenTainted: fc.boolean() }),
  thoughts: fc.constantFrom('guided' as const, 'hidden' as const),
  stages: fc.constantFrom(...stages),
  answer: fc.constantFrom(undefined, { schema: { type: 'object', required: ['answer'] } }),
});

/** What the world does next: a number picks among the things that are possible. */
const moves = fc.array(
  fc.record({
    pick: fc.nat(),
    passMs: fc.integer({ min: 0, max: 2_000 }),
    what: fc.constantFrom('work', 'work', 'work', 'write', 'write', 'person', 'cancel', 'lose'),
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

type World = { state: RunState; definition: Definition; slots: Map<string, Fact>; nowMs: number };

function write(world: World, fact: Fact): void {
  const slot = slotOf(fact);
  if (world.slots.has(slot)) return;
  world.slots.set(slot, fact);
  world.state = evolve(world.state, fact) ?? world.state;
}

type Work = Exclude<Action, { type: 'write' | 'wake' }>;

/** What comes of a piece of work. */
function resultOf(world: World, work: Work, pick: number): Fact {
  switch (work.type) {
    case 'act': {
      const status = (['ok', 'error', 'timeout', 'in_doubt', 'cancelled'] as const)[pick % 5] ?? 'ok';
      return observed(work.m, work.call.i, { status, data: JSON.stringify({ pick: pick % 11 }) });
    }
    case 'subrun':
      return { ...observed(work.m, work.call.i), spent: { tokens: 10, costNanoUsd: '5' } };
    case 'stop-subrun':
      return observed(work.m, work.call.i, { status: 'cancelled' });
    case 'expire':
      return decided(work.m, work.call.i, { decision: 'expire', offsetMs: world.nowMs - startMs });
    case 'think':
      return {
        ...thoughtFor(work, pick),
        at: new Date(world.nowMs).toISOString(),
        signalsSeen: world.state.signals.length,
      };
  }
}

function thoughtFor(work: Work & { type: 'think' }, pick: number): Thought {
  const { m } = work;
  const purpose = { purpose: work.purpose, ...(work.closing ? { closing: work.closing } : {}) };
  const kinds = [
    thought(m, { ...purpose, text: '{"answer": "This."}' }),
    thought(m, { ...purpose, text: '1. Look\n2. Tell' }),
    thought(m, { ...purpose, text: '' }),
    thought(m, { ...purpose, calls: [call('search', { pick: pick % 5 })] }),
    thought(m, { ...purpose, text: 'look', calls: [call('search'), call('nothing'), call('refund')] }),
    thought(m, { ...purpose, calls: [call('search', '{"a":'), call('search', { pick })] }),
    thought(m, { ...purpose, calls: [call('functions.search me', '[]'), call('', { pick })] }),
    thought(m, {
      ...purpose,
      calls: [call('search'), call('search'), call('pay', { pick: 9 }), call('pay', { pick: 1 })],
    }),
    thought(m, { ...purpose, calls: [call('ask', { question: 'Which?' }), call('search', { pick })] }),
    thought(m, { ...purpose, calls: [call('helper', { input: 'part' }), call('helper', { input: 'rest' })] }),
    thought(m, { ...purpose, calls: [call('finish', { answer: 'This.' }), call('pay', { pick })] }),
    thought(m, { ...purpose, outcome: 'failed', error: { code: 'model_unavailable', message: 'down' } }),
    thought(m, { ...purpose, outcome: 'failed', error: { code: 'budget_exceeded', message: 'no money' } }),
  ];
  return kinds[pick % kinds.length] ?? thought(m);
}

/** What a person might say now. */
function sayingOf(world: World, pick: number): Fact {
  const offsetMs = world.nowMs - startMs;
  const paused = pauseOf(world.state);
  if (paused) return resumed(paused.k, { steps: 8, tokens: 30_000, spendNanoUsd: '100000', toolCalls: 9 }, offsetMs);
  const turn = world.state.turns.at(-1);
  const waiting = turn ? waitingCalls(world.state, turn).find(({ admission }) => admission === 'approval') : undefined;
  if (turn && waiting && pick % 3 > 0) {
    const decision = (['approve', 'deny', 'edit'] as const)[pick % 3] ?? 'approve';
    return decided(turn.m, waiting.i, { decision, offsetMs, ...(decision === 'edit' ? { args: '{"pick":2}' } : {}) });
  }
  return signalled(`s${pick % 500}`, 'By the way.', offsetMs);
}

function play(world: World, script: { pick: number; passMs: number; what: string }[]): void {
  for (const move of script) {
    world.nowMs += move.passMs;
    const actions = decide(world.state, world.definition, world.nowMs);
    const writes = actions.filter((action) => action.type === 'write');
    const works = actions.filter((action) => action.type !== 'write' && action.type !== 'wake');
    if (move.what === 'cancel' && move.pick % 20 === 0) write(world, cancelled(world.nowMs - startMs));
    if (move.what === 'person' && move.pick % 2 === 0) write(world, sayingOf(world, move.pick));
    const chosen = writes[move.pick % Math.max(1, writes.length)];
    if (move.what === 'write' && chosen) write(world, chosen.fact);
    const work = works[move.pick % Math.max(1, works.length)];
    if (move.what === 'work' && work) write(world, resultOf(world, work, move.pick));
  }
}

/** Whether the run stands still: ended, or paused with nothing more to do. */
function hasStopped(state: RunState): boolean {
  return state.ended !== undefined || (pauseOf(state) !== undefined && !state.cancel);
}

/** From here on everybody does their duty, people too; the run has to come to its end. */
function finish(world: World): number {
  for (let round = 0; round < 300; round += 1) {
    if (hasStopped(world.state)) return round;
    const actions = decide(world.state, world.definition, world.nowMs);
    for (const action of actions) {
      if (action.type === 'write') write(world, action.fact);
      else if (action.type !== 'wake') write(world, resultOf(world, action, round * 7 + 2));
    }
    const wakes = actions.flatMap((action) => (action.type === 'wake' ? [action.atMs] : []));
    if (actions.length > wakes.length) continue;
    if (isWaitingOnly(world.state)) write(world, sayingOf(world, round * 2 + 1));
    else if (wakes.length > 0) world.nowMs = Math.max(world.nowMs, Math.min(...wakes));
    world.nowMs += 1;
  }
  return Number.POSITIVE_INFINITY;
}

describe('any story', { timeout }, () => {
  it('ends within its limits and answers every call exactly once', () => {
    fc.assert(
      fc.property(limits, specs, moves, (own, spec, script) => {
        const world = worldOf(own, spec);
        play(world, script);
        expect(finish(world)).toBeLessThan(300);
        const { state } = world;
        const totals = totalsOf(state);
        const granted = limitsOf(state);
        expect(totals.steps).toBeLessThanOrEqual(Math.max(granted.steps, own.steps));
        expect(totals.toolCalls).toBeLessThanOrEqual(Math.max(granted.toolCalls, own.toolCalls));
        for (const turn of state.turns) {
          expect(Object.keys(turn.observed)).toHaveLength(turn.thought?.calls.length ?? 0);
        }
        expect(decide(state, world.definition, world.nowMs)).toEqual([]);
        expect(breachesIn(world)).toEqual([]);
      }),
      { numRuns: cases },
    );
  });

  it('ends within the grace of a cancel, even when everybody keeps silent', () => {
    fc.assert(
      fc.property(limits, specs, moves, (own, spec, script) => {
        const world = worldOf(own, spec);
        play(world, script);
        write(world, cancelled(world.nowMs - startMs));
        const cancelledAtMs = Date.parse(world.state.cancel?.at ?? '');
        world.nowMs = Math.max(world.nowMs, cancelledAtMs + graceMs);
        for (let round = 0; round < 10; round += 1) {
          for (const action of decide(world.state, world.definition, world.nowMs)) {
            if (action.type === 'write') write(world, action.fact);
          }
        }
        expect(world.state.ended).toBeDefined();
      }),
      { numRuns: cases / 5 },
    );
  });

  it('says the same however often it is asked', () => {
    fc.assert(
      fc.property(limits, specs, moves, (own, spec, script) => {
        const world = worldOf(own, spec);
        play(world, script);
        const { state, definition, nowMs } = world;
        expect(decide(state, definition, nowMs)).toEqual(decide(state, definition, nowMs));
      }),
      { numRuns: cases / 5 },
    );
  });

  it('is the same run when its log is folded again', () => {
    fc.assert(
      fc.property(limits, specs, moves, (own, spec, script) => {
        const world = worldOf(own, spec);
        play(world, script);
        const again = [...world.slots.values()].reduce<RunState>(
          (state, fact) => evolve(state, fact) ?? state,
          startOf(world.state.started),
        );
        expect(again).toEqual(world.state);
      }),
      { numRuns: cases / 5 },
    );
  });
});

function worldOf(own: Partial<SettledLimits>, spec: Record<string, unknown>): World {
  const settled = Object.fromEntries(Object.entries(spec).filter(([, value]) => value !== undefined));
  const definition = definitionWith(tools, settled);
  return { state: startOf(started(own)), definition, slots: new Map(), nowMs: startMs };
}

/** What strict providers refuse: a call that isn't answered right behind its thought, in its order; content that isn't JSON. */
function breachesIn({ state, definition }: World): string[] {
  const messages = messagesOf(state, definition, { call: { m: state.turns.length, purpose: 'think' } });
  const breaches: string[] = [];
  let awaited: string[] = [];
  for (const message of messages) {
    if (message.role === 'tool') {
      if (message.tool_call_id !== awaited.shift()) breaches.push(`${message.tool_call_id} is out of order`);
      if (!isJson(message.content)) breaches.push(`${message.tool_call_id} is not JSON`);
      continue;
    }
    breaches.push(...awaited.map((id) => `${id} is not answered`));
    const calls = message.role === 'assistant' ? (message.tool_calls ?? []) : [];
    for (const { id, function: of } of calls) {
      if (!/^[A-Za-z0-9_-]{1,64}$/.test(of.name)) breaches.push(`${id} has a name that providers refuse`);
      if (!isJson(of.arguments)) breaches.push(`${id} has arguments that providers refuse`);
    }
    awaited = calls.map(({ id }) => id);
  }
  return [...breaches, ...awaited.map((id) => `${id} is not answered`)];
}
