import { describe, expect, test } from 'vitest';
import type { Fact } from '@pawl/contracts';
import { salesRunFacts } from '../../../src/testing/sales-run.ts';
import { compareStories } from './comparison.ts';
import { explain } from './explanation.ts';
import { overdueSince, storyOf } from './story.ts';
import { recordOfFact, slotOfFact, withLiveFacts, type Trace, type TracedRun } from './trace.ts';
import { waterfallOf } from './waterfall.ts';

const startedAt = '2026-03-02T08:00:00.000Z';
const facts = salesRunFacts({ runId: 'run_1', startedAt });
const records = facts.map((fact, at) => recordOfFact(fact, { seq: at + 1, slot: slotOfFact(fact) }));

function traceOf(more: Partial<Trace> & { status?: string } = {}): Trace {
  const { status = 'ended', ...rest } = more;
  const cost = { nanoUsd: '0', amount: '0.00', currency: 'USD' };
  const run = { status, stopReason: null, lastAt: startedAt, steps: 0, tokens: 0, cost } as unknown as TracedRun;
  return { run, records, missing: [], unreadable: [], ...rest };
}

const states = (trace: Trace) =>
  storyOf(trace).turns.map(({ calls }) => calls.map(({ tool, state }) => `${tool} ${state}`));

describe('a story', () => {
  test('shows calls from the moment they are asked for', () => {
    expect(states(traceOf({ status: 'running', records: records.slice(0, 2) }))).toEqual([['query_metric running']]);
    expect(states(traceOf({ status: 'running', records: records.slice(0, 4) }))).toEqual([['query_metric done']]);
  });

  test('tells a lost result from one that runs and from one that can not be read', () => {
    const some = records.filter(({ slot }) => slot !== 'observed.1.1').slice(0, 8);
    const three = (state: string) => [
      ['query_metric done'],
      ['aggregate_metric done', `aggregate_metric ${state}`, 'aggregate_metric done'],
    ];
    expect(states(traceOf({ status: 'running', records: some }))).toEqual(three('running'));
    expect(states(traceOf({ records: some, missing: ['observed.1.1'] }))).toEqual(three('missing'));
    const unreadable = [{ slot: 'observed.1.1', reason: 'too_deep', sizeBytes: 9 }];
    expect(states(traceOf({ records: some, unreadable }))).toEqual(three('unreadable'));
  });

  test('has a place for a turn of which nothing came', () => {
    const { turns } = storyOf(
      traceOf({ records: records.slice(0, 4), missing: ['thought.1', 'acted.2', 'observed.2.0'] }),
    );
    expect(turns.map(({ m, lost, calls }) => [m, lost.length, calls.length])).toEqual([
      [0, 0, 1],
      [1, 1, 0],
      [2, 1, 1],
    ]);
  });

  test('of a fork begins with what it took over, and misses none of it', () => {
    const [started] = facts;
    if (started?.kind !== 'started') throw new TypeError('the first fact is started');
    const seed = facts.slice(1, 4) as NonNullable<typeof started.seed>;
    const fork = recordOfFact(
      { ...started, forkOf: { runId: 'run_0', fromStep: 2 }, seed },
      { seq: 1, slot: 'started' },
    );
    const story = storyOf(traceOf({ records: [fork, ...records.slice(4, 5)], missing: ['thought.0'] }));
    expect(story.turns.map(({ m, step, isSeeded, lost }) => [m, step, isSeeded, lost.length])).toEqual([
      [0, 1, true, 0],
      [1, 2, false, 0],
    ]);
  });

  test('calls a run overdue once its time is over and nothing comes', () => {
    const trace = traceOf({ status: 'running', records: records.slice(0, 2) });
    const deadline = Date.parse(startedAt) + 120_000;
    expect(overdueSince(trace, deadline)).toBeUndefined();
    expect(overdueSince(trace, deadline + 61_000)).toBe('2026-03-02T08:02:00.000Z');
    expect(overdueSince(traceOf(), deadline + 61_000)).toBeUndefined();
  });
});

test('facts of the event stream join the records once, and end the run', () => {
  const trace = traceOf({ status: 'running', records: records.slice(0, 3), missing: ['observed.0.0'] });
  const live = facts.map((fact, at) => ({ seq: at + 1, fact }));
  const whole = withLiveFacts(trace, live);
  expect(whole.records.map(({ slot }) => slot)).toEqual(records.map(({ slot }) => slot));
  expect(whole.run).toMatchObject({ status: 'ended', stopReason: 'final_answer', steps: 5, toolCalls: 6 });
  expect(whole.missing).toEqual([]);
  expect(withLiveFacts(whole, live)).toBe(whole);
});

test('a waterfall says what was queued, how long the model spoke, and what the run waited for', () => {
  const { bars, totalMs } = waterfallOf(storyOf(traceOf()), Date.parse(startedAt));
  expect(bars.map(({ kind }) => kind).join(' ')).toBe(
    'thought call thought call call call thought call thought call thought',
  );
  expect(bars[0]?.segments).toEqual([
    { kind: 'firstToken', fromMs: 0, toMs: 21 },
    { kind: 'stream', fromMs: 21, toMs: 412 },
  ]);
  expect(bars[1]?.segments).toEqual([
    { kind: 'queue', fromMs: 413, toMs: 415 },
    { kind: 'tool', fromMs: 415, toMs: 453 },
  ]);
  expect(bars.slice(3, 6).map(({ isCritical }) => isCritical)).toEqual([false, true, false]);
  expect(totalMs).toBe(3_220);
});

/** The sales run with other facts in the place of some. */
function withFacts(change: (fact: Fact) => Fact): Trace {
  return traceOf({
    records: facts.map((fact, at) => recordOfFact(change(fact), { seq: at + 1, slot: slotOfFact(fact) })),
  });
}

describe('an explanation', () => {
  test('tells what was done and what was not, without thoughts and without code', () => {
    const explanation = explain(storyOf(traceOf()));
    expect(explanation.steps.map(({ calls }) => calls.map(({ outcome }) => outcome.kind))).toEqual([
      ['rows'],
      ['rows', 'rows', 'rows'],
      ['not_done'],
      ['rows'],
    ]);
    expect(explanation.notDone).toMatchObject([
      { tool: 'execute_sql', args: [], isMadeGood: false, outcome: { status: 'error', code: 'tool_failed' } },
    ]);
    expect(explanation).toMatchObject({
      unclear: [],
      isIncomplete: false,
      allowed: { max_steps: 10, max_spend: '0.400000000' },
    });
    expect(JSON.stringify(explanation)).not.toMatch(/Known|select/);
  });

  test('says that nobody knows where records are lost or a write is in doubt', () => {
    const doubtful = withFacts((fact) =>
      fact.kind === 'observed' && fact.m === 2
        ? { ...fact, observation: { ...fact.observation, status: 'in_doubt', errorCode: 'in_doubt' } }
        : fact,
    );
    const { notDone, unclear } = explain(storyOf(doubtful));
    expect([notDone, unclear.map(({ slot }) => slot)]).toEqual([[], ['observed.2.0']]);
    const torn = traceOf({
      records: records.filter(({ slot }) => slot !== 'observed.0.0' && slot !== 'thought.1'),
      missing: ['observed.0.0', 'thought.1'],
    });
    expect(explain(storyOf(torn))).toMatchObject({ unclear: [{ slot: 'observed.0.0' }], isIncomplete: true });
    const silent = traceOf({ status: 'running', records: records.slice(0, 3) });
    expect(explain(storyOf(silent, { isLost: true })).unclear).toMatchObject([{ slot: 'observed.0.0' }]);
  });

  test('tells that nobody was asked any more where the tool was changed while a call waited', () => {
    const changed = withFacts((fact) => {
      if (fact.kind === 'acted' && fact.m === 0) {
        return { ...fact, calls: fact.calls.map((call) => ({ ...call, admission: 'approval' as const })) };
      }
      if (fact.kind !== 'observed' || fact.m !== 0) return fact;
      return { ...fact, observation: { ...fact.observation, status: 'denied', errorCode: 'tool_not_allowed' } };
    });
    expect(explain(storyOf(changed)).notDone[0]).toMatchObject({ voided: 'asked', decision: undefined });
  });

  test('tells the one figure of a result, what a person answered, and what came too late', () => {
    const other = withFacts((fact) => {
      if (fact.kind === 'observed' && fact.m === 0) {
        const data = '{"expression":"248.50 * 100","result":24850.00}';
        return { ...fact, observation: { ...fact.observation, data } };
      }
      if (fact.kind === 'acted' && fact.m === 3) {
        return {
          ...fact,
          calls: fact.calls.map((call) => ({ ...call, admission: 'input' as const, why: 'Which month?' })),
        };
      }
      if (fact.kind === 'observed' && fact.m === 3) {
        return { ...fact, observation: { ...fact.observation, data: '{"answer":"February"}' } };
      }
      return fact.kind === 'thought' && fact.m === 2 ? { ...fact, purpose: 'conclude' } : fact;
    });
    const calls = explain(storyOf(other)).steps.map((step) => step.calls[0]);
    expect(calls.map((call) => call?.outcome)).toMatchObject([
      { kind: 'value', text: '24850.00', isNumber: true },
      { kind: 'rows' },
      { kind: 'not_done' },
      { kind: 'value', text: 'February', isNumber: false },
    ]);
    expect([calls[2]?.isTooLate, calls[3]?.question]).toEqual([true, 'Which month?']);
    const said = ['February', 'And March?'].map((text, n) => {
      const fact = { v: 1 as const, app: 'demo', runId: 'run_1', at: startedAt, by: 'user ana', id: `s${n}`, text };
      return recordOfFact({ ...fact, kind: 'signal' }, { seq: 99, slot: `signal.s${n}` });
    });
    expect(explain(storyOf({ ...other, records: [...other.records, ...said] })).messages).toEqual(['And March?']);
    const { bars } = waterfallOf(storyOf(other), Date.parse(startedAt));
    expect(bars.find(({ tool }) => tool === 'query_dataset')?.segments[0]?.kind).toBe('person');
  });

  test('tells that a later try of the same tool worked', () => {
    const retried = withFacts((fact) => {
      if (fact.kind === 'acted' && fact.m === 3) {
        return { ...fact, calls: fact.calls.map((call) => ({ ...call, tool: 'execute_sql' })) };
      }
      return fact.kind === 'observed' && fact.m === 3 ? { ...fact, tool: 'execute_sql' } : fact;
    });
    expect(explain(storyOf(retried)).notDone).toMatchObject([{ isMadeGood: true }]);
  });

  test('tells who decided, with the arguments as they were carried out, and that it no longer counted', () => {
    const base = { v: 1 as const, app: 'demo', runId: 'run_1', at: startedAt, m: 0, i: 0, callId: 'call_0_0' };
    const approval = recordOfFact(
      {
        ...base,
        kind: 'approval',
        decision: 'edit',
        toolRevision: 'a',
        argsHash: 'b',
        args: '{"amount":20}',
        by: 'user lin.wei',
      },
      { seq: 3, slot: 'approval.0.0' },
    );
    const ofFirst = (trace: Trace) =>
      explain(storyOf({ ...trace, records: [...trace.records, approval] })).steps[0]?.calls[0];
    expect(ofFirst(traceOf())).toMatchObject({
      args: [{ name: 'amount', value: '20' }],
      decision: { kind: 'edit', by: 'lin.wei' },
      voided: undefined,
    });
    const changed = withFacts((fact) =>
      fact.kind === 'observed' && fact.m === 0
        ? { ...fact, observation: { ...fact.observation, status: 'denied', errorCode: 'tool_not_allowed' } }
        : fact,
    );
    expect(ofFirst(changed)).toMatchObject({
      voided: 'decided',
      outcome: { status: 'denied', said: undefined },
    });
  });
});

test('a comparison finds where two runs part', () => {
  const other = records.map((record) => {
    if (record.body?.kind !== 'acted' || record.m !== 2) return record;
    return {
      ...record,
      body: { ...record.body, calls: record.body.calls.map((call) => ({ ...call, args: '{"query":"select 1"}' })) },
    };
  });
  const left = storyOf(traceOf());
  expect(compareStories(left, left).partsAt).toBeUndefined();
  const { turns, partsAt } = compareStories(left, storyOf(traceOf({ records: other })));
  expect(partsAt).toBe(3);
  const withClosing = records.flatMap((record) => {
    if (record.slot !== 'thought.2' || record.body?.kind !== 'thought') return [record];
    const closing = { ...record.body, m: 1.5, purpose: 'conclude' as const, calls: [] };
    return [{ ...record, slot: 'thought.1.5', m: 1.5, step: 2, purpose: closing.purpose, body: closing }, record];
  });
  const aligned = compareStories(left, storyOf(traceOf({ records: withClosing })));
  expect(aligned.turns.map(({ left: one, right: two }) => [one?.m, two?.m])).toEqual([
    [0, 0],
    [1, 1],
    [undefined, 1.5],
    [2, 2],
    [3, 3],
    [4, 4],
  ]);
  expect(turns[2]?.calls).toMatchObject([{ likeness: 'arguments', hasSameResult: true }]);
});

test('a comparison claims nothing of bodies that have not been loaded', () => {
  const withoutBody = (slot: string) =>
    storyOf(
      traceOf({
        records: records.map((record) => {
          if (record.slot !== slot) return record;
          const { body: _body, ...rest } = record;
          return { ...rest, bodyRef: `/v1/traces/run_1/records/${slot}` };
        }),
      }),
    );
  const whole = storyOf(traceOf());
  for (const slot of ['thought.1', 'observed.0.0']) {
    const { partsAt, isCertain, turns } = compareStories(whole, withoutBody(slot));
    expect([partsAt, isCertain]).toEqual([undefined, false]);
    expect(turns.filter(({ isSame }) => isSame === undefined)).toHaveLength(1);
  }
  const numbers = ['9007199254740993', '9007199254740992'].map((id) =>
    storyOf(
      withFacts((fact) =>
        fact.kind === 'acted' && fact.m === 0
          ? { ...fact, calls: fact.calls.map((call) => ({ ...call, args: `{"id":${id}}` })) }
          : fact,
      ),
    ),
  );
  expect(compareStories(numbers[0] ?? whole, numbers[1] ?? whole).partsAt).toBe(1);
});
