import { eventually } from '@pawl/testkit';
import { expect, test } from 'vitest';
import { readQueueLengths } from './queue-lengths.ts';
import { actWork, createApps, newRunId } from './testing/samples.ts';
import { useQueues } from './testing/use-queues.ts';

const on = useQueues();

test('what waits, what is under way and how old it is, per pool over all apps', async () => {
  const isOver = Promise.withResolvers<void>();
  const handle = () => isOver.promise;
  await on.consume({ concurrency: 1, apps: createApps('demo', 'other'), handle });
  const runId = newRunId();
  for (let i = 0; i < 5; i += 1) await on.publish(actWork({ runId, i }));
  for (let i = 0; i < 5; i += 1) await on.publish(actWork({ runId, i, app: 'other' }));

  const read = async (nowMs = Date.now()) => {
    const [first, ...more] = await readQueueLengths(on.bus, 'act', { nowMs });
    return more.length === 0 ? first : undefined;
  };
  const taken = await eventually(async () => {
    const length = await read();
    return length && length.underWay > 0 ? length : undefined;
  });
  expect(taken).toMatchObject({ queue: 'default' });
  expect(taken.waiting + taken.underWay).toBe(10);
  expect(taken.waiting).toBeGreaterThan(0);
  const ofOne = await readQueueLengths(on.bus, 'act', { nowMs: Date.now(), app: 'other' });
  expect(ofOne.map(({ queue, waiting, underWay }) => [queue, waiting + underWay])).toEqual([['default', 5]]);
  expect(await readQueueLengths(on.bus, 'act', { nowMs: Date.now(), app: 'nobody' })).toEqual([]);
  expect((await read(Date.now() + 60_000))?.oldestWaitingMs).toBeGreaterThanOrEqual(60_000);

  isOver.resolve();
  const isEmpty = async () => {
    const length = await read();
    return length?.waiting === 0 && length.underWay === 0 && length;
  };
  expect(await eventually(isEmpty, { withinMs: 20_000 })).toMatchObject({ oldestWaitingMs: 0 });
  await eventually(async () => ((await read())?.asking ?? 0) > 0);
});
