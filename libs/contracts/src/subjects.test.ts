import { expect, test } from 'vitest';
import { parseFactSubject, partitionOf, streamSubjects, subjects } from './subjects.ts';

const runId = 'run_01938f2a6c7e7c31a4b1d0e5f7a96b42';

test('a run has the same partition everywhere', () => {
  // Known answers: a change of the hash would move every running run to another owner's log.
  expect([1, 2, 16, 64, 1024].map((partitions) => partitionOf(runId, partitions))).toEqual([0, 0, 4, 36, 676]);
});

test('runs are spread evenly over partitions', () => {
  const counts = new Map<number, number>();
  for (let number = 0; number < 6_400; number += 1) {
    const partition = partitionOf(`run_${number.toString(16).padStart(32, '0')}`, 64);
    counts.set(partition, (counts.get(partition) ?? 0) + 1);
  }
  expect(counts.size).toBe(64);
  // Each has about 100 (standard deviation 10).
  expect(Math.min(...counts.values())).toBeGreaterThan(40);
  expect(Math.max(...counts.values())).toBeLessThan(160);
});

test('ids that sort by time are spread as well', () => {
  const partitions = new Set<number>();
  for (let number = 0; number < 640; number += 1) {
    partitions.add(partitionOf(`run_01938f2a6c7e7c31a4b1${number.toString(16).padStart(12, '0')}`, 16));
  }
  expect(partitions.size).toBe(16);
});

test('subjects belong to the streams that are to keep them', () => {
  const address = { partition: 5, app: 'demo', runId };
  expect(matches(subjects.fact(address, 'observed.1.0'), streamSubjects.RUNS)).toBe(true);
  expect(matches(subjects.fact(address, 'ended'), subjects.factsOfRun('demo', runId))).toBe(true);
  expect(matches(subjects.fact(address, 'ended'), subjects.factsOfPartition(5))).toBe(true);
  expect(matches(subjects.fact(address, 'ended'), subjects.factsOfPartition(50))).toBe(false);
  expect(matches(subjects.fact(address, 'ended'), subjects.factsOfRun('dem', runId))).toBe(false);
  expect(matches(`${subjects.thinkOfApp('batch', 'demo').slice(0, -1)}${runId}.1`, streamSubjects.THINK)).toBe(true);
  expect(matches(`${subjects.actOfApp('default', 'demo').slice(0, -1)}${runId}.1.0`, streamSubjects.ACT)).toBe(true);
  expect(matches(subjects.delta('demo', runId, 4), subjects.deltasOfRun('demo', runId))).toBe(true);
});

test('deltas are in no stream', () => {
  for (const filter of Object.values(streamSubjects))
    expect(matches(subjects.delta('demo', runId, 4), filter)).toBe(false);
});

test.each([
  '',
  'pawl.run',
  `pawl.run.5.demo.${runId}`,
  `pawl.run.5.demo.${runId}.`,
  `pawl.run.5..${runId}.started`,
  `pawl.run.x.demo.${runId}.started`,
  `pawl.run..demo.${runId}.started`,
  `pawl.run.-1.demo.${runId}.started`,
  `pawl.run.5.demo.${runId}.thought..1`,
  `pawl.think.5.demo.${runId}.1`,
  `other.run.5.demo.${runId}.started`,
])('%j is the subject of no fact', (subject) => {
  expect(parseFactSubject(subject)).toBeUndefined();
});

/** Whether NATS would deliver the subject to a subscriber of the filter. */
function matches(subject: string, filter: string): boolean {
  const pattern = filter.split('.').map((token) => (token === '*' ? '[^.]+' : token === '>' ? '.+' : token));
  return new RegExp(`^${pattern.join('\\.')}$`).test(subject);
}
