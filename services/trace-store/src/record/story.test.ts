import { expect, test, describe } from 'vitest';
import fc from 'fast-check';
import { slotOf, type Fact } from '@pawl/contracts';
import { runIdAt, salesRunFacts } from '../testing/sales-run.ts';
import { recordOf } from './record.ts';
import { inStoryOrder, MISSING_MAX, missingSlots, stepsByThought, type StoryRecord } from './story.ts';

const startedAt = '2026-03-02T08:00:00.000Z';
const facts = salesRunFacts({ runId: runIdAt(startedAt, 'story'), startedAt });
const records = facts.map((fact, at) => recordFrom(fact, at + 1));

function recordFrom(fact: Fact, sequence: number) {
  return recordOf({
    fact,
    text: JSON.stringify(fact),
    slot: slotOf(fact),
    sequence,
    trace: undefined,
    isRedacted: false,
  });
}

const without = (...slots: string[]) => records.filter(({ slot }) => !slots.includes(slot));
const slotsOf = (story: readonly StoryRecord[]) => story.map(({ slot }) => slot);

describe('story order', () => {
  test('is that of the slots, whatever the order of delivery', () => {
    const expected = slotsOf(records);
    const anyOrder = fc.shuffledSubarray(records, { minLength: records.length });
    fc.assert(
      fc.property(anyOrder, (shuffled) => {
        // A redelivered log may even number its facts anew.
        const renumbered = shuffled.map((record, at) => ({ ...record, sequence: at + 1 }));
        expect(slotsOf(inStoryOrder(renumbered))).toEqual(expected);
      }),
    );
  });

  test('has approvals before the observation of their call, and signals where the log has them', () => {
    const approval = {
      ...records[2],
      slot: 'approval.1.1',
      kind: 'approval',
      m: 1,
      i: 1,
      sequence: 7.5,
    } as StoryRecord;
    const signal = { ...records[0], slot: 'signal.a', kind: 'signal', m: null, i: null, sequence: 5.5 } as StoryRecord;
    const story = slotsOf(inStoryOrder([signal, approval, ...records]));
    expect(story.slice(story.indexOf('acted.1'), story.indexOf('thought.2'))).toEqual([
      'acted.1',
      'observed.1.0',
      'approval.1.1',
      'observed.1.1',
      'observed.1.2',
      'signal.a',
    ]);
  });
});

describe('missing slots', () => {
  test('a whole run misses nothing, nor does any beginning of it', () => {
    for (let length = 0; length <= records.length; length++) {
      expect(missingSlots(records.slice(0, length))).toEqual([]);
    }
  });

  test.each([
    ['an observation', ['observed.1.1']],
    ['the last observation of a thought', ['observed.1.2']],
    ['all observations of a thought', ['observed.1.0', 'observed.1.1', 'observed.1.2']],
    ['a decision', ['acted.1']],
    ['a thought', ['thought.2']],
    ['a whole turn but its thought', ['acted.2', 'observed.2.0']],
    ['the start', ['started']],
  ])('%s that is lost is named', (_name, lost) => {
    expect(missingSlots(without(...lost))).toEqual(lost);
  });

  test('a call that still runs is not missing, at the end it is', () => {
    const running = records.slice(
      0,
      records.findIndex(({ slot }) => slot === 'observed.1.1'),
    );
    expect(missingSlots(running)).toEqual([]);
    expect(missingSlots([...running, ...records.slice(-1)])).toEqual(['observed.1.1', 'observed.1.2']);
  });

  test('what came and could not be kept is not called missing', () => {
    expect(missingSlots(without('thought.2'), new Set(['thought.2']))).toEqual([]);
  });

  test('what a fork took over is not missing, and its steps are counted on', () => {
    const seed = facts.filter((fact) => 'm' in fact && fact.m < 2);
    const forked = { ...facts[0], seed, forkOf: { runId: facts[0]?.runId, fromStep: 3 } } as Fact;
    const rest = facts.filter((fact) => 'm' in fact && fact.m >= 2);
    const fork = [forked, ...rest].map((fact, at) => recordFrom(fact, at + 1));
    expect(missingSlots(fork)).toEqual([]);
    expect(missingSlots(fork.filter(({ slot }) => slot !== 'thought.2'))).toEqual(['thought.2']);
    const withoutActed = fork.filter(({ kind }) => kind !== 'acted');
    expect([...stepsByThought(withoutActed)]).toEqual([
      [2, 3],
      [3, 4],
      [4, 5],
    ]);
  });

  test('a huge m names a bounded number', () => {
    const far = { ...records[1], slot: 'thought.9007199254740991', m: Number.MAX_SAFE_INTEGER } as StoryRecord;
    expect(missingSlots([...records, far])).toHaveLength(MISSING_MAX);
  });
});

test('every thought belongs to a step, also the one that concludes', () => {
  expect([...stepsByThought(records)]).toEqual([
    [0, 1],
    [1, 2],
    [2, 3],
    [3, 4],
    [4, 5],
  ]);
});
