import { test, expect, describe } from 'vitest';
import fc from 'fast-check';
import type { Fact } from '@pawl/contracts';
import { slotOf } from '@pawl/contracts';
import { noRules } from '@pawl/redaction';
import { runIdAt, salesRunFacts } from '../testing/sales-run.ts';
import { isDepthAtMost, readFactMessage, type FactMessage } from './fact-message.ts';
import { recordOf, type FactRecord } from './record.ts';
import { contributionOf, rollUp } from './contribution.ts';
import { mergeRollUps, statusOf, stopReasonOf } from './roll-up.ts';

const startedAt = '2026-03-02T08:00:00.000Z';
const runId = runIdAt(startedAt, 'record');
const facts = salesRunFacts({ runId, startedAt });
const encoder = new TextEncoder();

function messageOf(fact: Fact, text = JSON.stringify(fact), sequence = 1): FactMessage {
  return { subject: `pawl.run.3.${fact.app}.${fact.runId}.${slotOf(fact)}`, sequence, data: encoder.encode(text) };
}

function recordFrom(message: FactMessage): FactRecord {
  const reading = readFactMessage(message, () => noRules);
  if (!('fact' in reading)) throw new Error(`rejected: ${reading.rejected.reason}`);
  return recordOf(reading.fact);
}

const ended = facts.at(-1) as Extract<Fact, { kind: 'ended' }>;
const paused = { ...ended, kind: 'paused', at: startedAt, k: 0, stopReason: 'waiting_approval' } as Fact;
const records = [...facts, paused].map((fact, at) => recordFrom(messageOf(fact, JSON.stringify(fact), at + 1)));

describe('the roll-up of a run', () => {
  test('is the same for every permutation and repetition of its records, in any batches', () => {
    const expected = rollUp(records);
    const anyDelivery = fc
      .array(fc.constantFrom(...records), { maxLength: 40 })
      .chain((repeats) =>
        fc.shuffledSubarray([...records, ...repeats], { minLength: records.length + repeats.length }),
      );
    fc.assert(
      fc.property(anyDelivery, fc.nat(40), (delivered, cut) => {
        expect(rollUp(delivered)).toEqual(expected);
        const distinct = [...new Map(delivered.map((record) => [record.slot, record])).values()];
        const parts = [distinct.slice(0, cut), distinct.slice(cut)].map((part) => rollUp(part));
        const [first, second] = parts;
        const merged = second ? mergeRollUps(first, second) : first;
        expect(merged).toEqual(expected);
      }),
    );
  });

  test('holds what was asked, how it ended and what it cost', () => {
    expect(rollUp(records)).toMatchObject({
      start: {
        agent: 'sales-analyst',
        question: 'Why did sales revenue suddenly drop in February?',
        userId: 'lin.wei',
      },
      end: { stopReason: 'final_answer', partial: false, totals: { steps: 5, toolCalls: 6 } },
      records: 18,
      steps: 5,
      toolCalls: 6,
      tokens: 9_381,
      costNanoUsd: 11_061_000n,
    });
  });

  test('keeps the record that was written first when a slot was filled twice', () => {
    const [first] = records;
    if (!first) throw new Error('no record');
    const later = { ...first, sequence: 99, at: '2030-01-01T00:00:00.000Z' };
    expect(rollUp([later, first])).toEqual(rollUp([first]));
    expect(rollUp([first, later])).toEqual(rollUp([first]));
  });

  test('tells where the run stands', () => {
    const pausedState = contributionOf(recordFrom(messageOf(paused)));
    expect(statusOf(pausedState)).toBe('waiting');
    const { deadlineAt, limits } = facts[0] as Extract<Fact, { kind: 'started' }>;
    const resumed = { ...paused, kind: 'resumed', limits, deadlineAt, by: 'lin.wei' } as Fact;
    const resumedState = contributionOf(recordFrom(messageOf(resumed)));
    expect(statusOf(mergeRollUps(resumedState, pausedState))).toBe('running');
    expect(statusOf(mergeRollUps(pausedState, contributionOf(recordFrom(messageOf(facts.at(-1) as Fact)))))).toBe(
      'ended',
    );
  });
});

describe('a run that waits for a person', () => {
  const acted = facts.find(({ kind }) => kind === 'acted') as Extract<Fact, { kind: 'acted' }>;
  const [call] = acted.calls as [(typeof acted.calls)[0]];
  const { app } = acted;
  const base = { v: 1 as const, app, runId, at: startedAt };
  const asked = {
    ...acted,
    calls: [
      { ...call, admission: 'approval' as const, why: 'it writes' },
      { ...call, i: 1 },
    ],
  };
  const approved: Fact = {
    ...base,
    kind: 'approval',
    m: acted.m,
    i: 0,
    callId: call.callId,
    decision: 'approve',
    toolRevision: call.toolRevision ?? '',
    argsHash: call.argsHash ?? '',
    by: 'lin.wei',
  };
  const rollUpFacts = (...some: Fact[]) =>
    rollUp(some.map((fact, at) => recordFrom(messageOf(fact, JSON.stringify(fact), at + 1))));
  const standingOf = (...some: Fact[]) => {
    const run = rollUpFacts(...some);
    return run && [statusOf(run), stopReasonOf(run)];
  };
  const observed = facts.find(({ kind }) => kind === 'observed') as Extract<Fact, { kind: 'observed' }>;

  test('waits from the moment the call is asked for until it is decided or observed, in any order', () => {
    expect(standingOf(asked)).toEqual(['waiting', 'waiting_approval']);
    expect(standingOf(asked, { ...observed, i: 1 })).toEqual(['waiting', 'waiting_approval']);
    for (const order of [
      [asked, approved],
      [approved, asked],
      [{ ...observed, i: 0 } as Fact, asked],
    ]) {
      expect(standingOf(...order)).toEqual(['running', null]);
    }
    const input = { ...asked, calls: [{ ...call, admission: 'input' as const }] };
    expect(standingOf(input)).toEqual(['waiting', 'waiting_input']);
    const next = facts.find((fact) => fact.kind === 'thought' && fact.m === acted.m + 1) as Fact;
    expect(standingOf(next, input)).toEqual(['running', null]);
  });

  test('has the same roll-up whatever the order and the batches', () => {
    const some = [asked, approved, { ...observed, i: 0 }, { ...observed, i: 1 }, ...facts.slice(0, 2)] as Fact[];
    const expected = rollUpFacts(...some);
    fc.assert(
      fc.property(fc.shuffledSubarray(some, { minLength: some.length }), (order) => {
        expect(rollUpFacts(...order)).toEqual(expected);
      }),
    );
  });

  test('that paused at a limit shows its best answer so far, and runs again once it is resumed', () => {
    const outOfSteps = { ...paused, stopReason: 'max_steps', answer: 'so far', partial: true } as Fact;
    expect(standingOf(...facts.slice(0, 2), outOfSteps)).toEqual(['paused', 'max_steps']);
    expect(rollUpFacts(outOfSteps)?.pause).toMatchObject({ answer: 'so far', partial: true });
  });
});

describe('money that is spent in a tree of runs', () => {
  const observed = facts.find(({ kind }) => kind === 'observed') as Extract<Fact, { kind: 'observed' }>;
  const spent = { tokens: 300, costNanoUsd: '5000' };

  test('T6: what a sub-run spent is told apart from what the run itself thought', () => {
    const paid = [...facts.slice(0, 2), { ...observed, spent } as Fact].map((fact) => recordFrom(messageOf(fact)));
    expect(rollUp(paid)).toMatchObject({
      tokens: 976,
      costNanoUsd: 1_168_000n,
      subTokens: 300,
      subCostNanoUsd: 5_000n,
    });
    expect(paid.at(-1)).toMatchObject({ inputTokens: null, costNanoUsd: null, subCostNanoUsd: '5000' });
  });

  test('T6: what a fork took over was paid by the run it comes from', () => {
    const seed = facts.filter((fact) => 'm' in fact && fact.m < 2);
    const started = { ...facts[0], seed, forkOf: { runId, fromStep: 3 } } as Fact;
    const record = recordFrom(messageOf(started));
    expect(record).toMatchObject({ seededTurns: 2, seededSteps: 2 });
    expect(rollUp([record])).toMatchObject({ tokens: 0, costNanoUsd: 0n, start: { forkOf: { runId, fromStep: 3 } } });
  });
});

describe('a record', () => {
  test('keeps the text of its fact digit for digit', () => {
    const text = JSON.stringify(facts[0]).replace(/\}$/, ',"environment":{"order":9007199254740993,"rate":1.10}}');
    expect(recordFrom(messageOf(facts[0] as Fact, text)).body).toBe(text);
  });

  test('takes what Postgres text can not hold out of its columns and marks it', () => {
    const started = facts[0] as Extract<Fact, { kind: 'started' }>;
    const odd = { ...started, input: 'a\u0000b\ud800c', metadata: { '\u0000': 'x' } };
    const record = recordFrom(messageOf(odd));
    expect(record.marks).toEqual(['lone_surrogate', 'nul']);
    expect(rollUp([record])?.start?.question).toBe('a\ufffdb\ufffdc');
    expect(recordFrom(messageOf({ ...started, input: 'pair \ud83d\ude00, "\\u0000" as text' })).marks).toEqual([]);
  });

  test('T13: holds no secret, in its body and in its columns, and says that something was taken out', () => {
    const started = facts[0] as Extract<Fact, { kind: 'started' }>;
    const record = recordFrom(messageOf({ ...started, input: 'Use key sk-test-1234567890abcdef please' }));
    expect(record.marks).toEqual(['redacted']);
    expect(rollUp([record])?.start?.question).toBe('Use key [redacted] please');
    expect(JSON.stringify(record)).not.toContain('1234567890abcdef');
  });

  test('T13: fail closed: a fact that is none without what has to be out is set aside', () => {
    const rules = { ...noRules, fields: new Set(['kind']) };
    expect(readFactMessage(messageOf(facts[0] as Fact), () => rules)).toMatchObject({
      rejected: { reason: 'redaction_failed' },
    });
  });

  test('writes times in one form, so that their order is that of their text', () => {
    const record = recordFrom(messageOf({ ...(facts[0] as Fact), at: '2026-03-02T08:00:00Z' }));
    expect(record.at).toBe('2026-03-02T08:00:00.000Z');
  });
});

describe('a message that can not be kept', () => {
  const fact = facts[0] as Fact;
  const good = messageOf(fact);
  const deep = `${JSON.stringify(fact).slice(0, -1)},"environment":${'{"a":'.repeat(50_000)}1${'}'.repeat(50_000)}}`;
  const cases: [string, FactMessage, string][] = [
    ['is not JSON', { ...good, data: encoder.encode('{"v":1,') }, 'invalid_json'],
    [
      'holds a NUL byte',
      { ...good, data: encoder.encode(JSON.stringify(fact).replace('Why', 'W\u0000y')) },
      'invalid_json',
    ],
    ['is not UTF-8', { ...good, data: Uint8Array.of(0x22, 0xff, 0x22) }, 'invalid_utf8'],
    ['holds a surrogate in bytes', { ...good, data: Uint8Array.of(0x22, 0xed, 0xa0, 0x80, 0x22) }, 'invalid_utf8'],
    ['nests 50,000 deep', { ...good, data: encoder.encode(deep) }, 'too_deep'],
    ['is no fact', { ...good, data: encoder.encode('{"v":1,"kind":"dreamt"}') }, 'not_a_fact'],
    ['claims another app', { ...good, subject: good.subject.replace('.demo.', '.other.') }, 'wrong_address'],
    ['claims another slot', { ...good, subject: good.subject.replace('.started', '.ended') }, 'wrong_address'],
    ['is empty', { ...good, data: new Uint8Array() }, 'invalid_json'],
    ['has a strange subject', { ...good, subject: 'pawl.run.x' }, 'unknown_subject'],
  ];
  test.each(cases)('because it %s', (_name, message, reason) => {
    const reading = readFactMessage(message, () => noRules);
    expect(reading).toMatchObject({ rejected: { reason, size: message.data.byteLength } });
    expect(JSON.stringify(reading)).not.toContain('February');
  });

  test('is the only kind that is set aside: any bytes give an answer', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.string(), (data, slot) => {
        const reading = readFactMessage(
          { subject: `pawl.run.0.demo.${runId}.${slot}`, sequence: 1, data },
          () => noRules,
        );
        expect('rejected' in reading).toBe(true);
      }),
    );
  });
});

test('depth is told without parsing, brackets in strings do not count', () => {
  expect(isDepthAtMost('[[1]]', 2)).toBe(true);
  expect(isDepthAtMost('[[[1]]]', 2)).toBe(false);
  expect(isDepthAtMost(JSON.stringify({ a: '[[[[\\"[[', b: ['"{{{'] }), 2)).toBe(true);
  fc.assert(
    fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
      const depth = depthOf(value);
      expect(isDepthAtMost(JSON.stringify(value), depth)).toBe(true);
      expect(isDepthAtMost(JSON.stringify(value), depth - 1)).toBe(depth === 0);
    }),
  );
});

function depthOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0;
  return 1 + Math.max(0, ...Object.values(value).map(depthOf));
}
