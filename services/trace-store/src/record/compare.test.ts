import { describe, expect, test } from 'vitest';
import { slotOf, type Fact } from '@pawl/contracts';
import { runIdAt, salesRunFacts } from '../testing/sales-run.ts';
import { compareRuns } from './compare.ts';
import { recordOf } from './record.ts';

const startedAt = '2026-03-02T08:00:00.000Z';
const facts = salesRunFacts({ runId: runIdAt(startedAt, 'compare'), startedAt });
const recordsOf = (some: readonly Fact[]) =>
  some.map((fact, at) =>
    recordOf({
      fact,
      text: JSON.stringify(fact),
      slot: slotOf(fact),
      sequence: at + 1,
      trace: undefined,
      isRedacted: false,
    }),
  );
const change = (slot: string, to: (fact: never) => object) =>
  facts.map((fact) => (slotOf(fact) === slot ? { ...fact, ...to(fact as never) } : fact));

describe('two runs', () => {
  test('that did the same differ nowhere, whatever the order of keys', () => {
    const other = change('acted.0', (fact: Extract<Fact, { kind: 'acted' }>) => ({
      calls: fact.calls.map((call) => ({ ...call, args: '{"to":"2026-02", "metric":"revenue","from":"2025-02"}' })),
    }));
    const steps = compareRuns(recordsOf(facts), recordsOf(other));
    expect(steps.map(({ step, differs }) => [step, differs])).toEqual([1, 2, 3, 4, 5].map((step) => [step, []]));
    expect(steps[1]?.a?.calls.map(({ tool, status }) => [tool, status])).toEqual(
      Array.from({ length: 3 }, () => ['aggregate_metric', 'ok']),
    );
  });

  test.each([
    ['thought.1', () => ({ text: 'Something else.' }), 'thoughts'],
    [
      'observed.1.2',
      (fact: Extract<Fact, { kind: 'observed' }>) => ({
        observation: { ...fact.observation, data: '{"rowCount":0}' },
      }),
      'results',
    ],
    [
      'acted.1',
      (fact: Extract<Fact, { kind: 'acted' }>) => ({
        calls: fact.calls.map((call) => ({ ...call, args: '{"dimension":"shop"}' })),
      }),
      'calls',
    ],
  ] as const)('that differ in %s say in which step and how', (slot, to, how) => {
    const steps = compareRuns(recordsOf(facts), recordsOf(change(slot, to)));
    expect(steps.filter(({ differs }) => differs.length > 0).map(({ step, differs }) => [step, differs])).toEqual([
      [2, [how]],
    ]);
  });

  test('of which one stopped earlier lack the steps that it did not take', () => {
    const steps = compareRuns(recordsOf(facts), recordsOf(facts.filter((fact) => !('m' in fact) || fact.m < 3)));
    expect(steps.slice(3).map(({ b, differs }) => [b, differs])).toEqual([
      [null, ['missing']],
      [null, ['missing']],
    ]);
  });

  test('a fork stands beside its origin with what it took over, which it did not pay', () => {
    const seed = facts.filter((fact) => 'm' in fact && fact.m < 2);
    const [started, ...rest] = facts;
    const fork = [{ ...started, seed, forkOf: { runId: started?.runId, fromStep: 3 } } as Fact].concat(
      rest.filter((fact) => !('m' in fact) || fact.m >= 2),
    );
    const steps = compareRuns(recordsOf(facts), recordsOf(fork));
    expect(steps.map(({ step, b, differs }) => [step, b?.isTakenOver, differs])).toEqual([
      [1, true, []],
      [2, true, []],
      [3, false, []],
      [4, false, []],
      [5, false, []],
    ]);
  });
});
