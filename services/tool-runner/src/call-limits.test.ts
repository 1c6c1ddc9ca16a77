import { describe, expect, test } from 'vitest';
import { createCallLimits } from './call-limits.ts';

const never = new AbortController().signal;

describe('limits of calls', () => {
  test('no more than allowed are in at once, and who waits comes in the order of arrival', async () => {
    const limits = createCallLimits(() => 2);
    const order: number[] = [];
    const leaves = [await limits.enter(['a'], never), await limits.enter(['a'], never)];
    const waiting = [1, 2].map((n) => limits.enter(['a'], never).then((leave) => (order.push(n), leave)));
    await Promise.resolve();
    expect(order).toEqual([]);
    leaves[0]?.();
    (await waiting[0])?.();
    (await waiting[1])?.();
    expect(order).toEqual([1, 2]);
    leaves[1]?.();
  });

  test('one key waits without holding up another', async () => {
    const limits = createCallLimits(() => 1);
    await limits.enter(['a', 'x'], never);
    await expect(limits.enter(['b', 'y'], never)).resolves.toBeTypeOf('function');
  });

  test('who is broken off leaves the line, and gives back what it held', async () => {
    const limits = createCallLimits(() => 1);
    const leave = await limits.enter(['tool'], never);
    const controller = new AbortController();
    const waiting = limits.enter(['app', 'tool'], controller.signal);
    controller.abort(new Error('gone'));
    await expect(waiting).rejects.toThrow('gone');
    (await limits.enter(['app'], never))();
    leave();
    (await limits.enter(['tool'], never))();
  });

  test('leaving twice makes no room twice', async () => {
    const limits = createCallLimits(() => 1);
    const leave = await limits.enter(['a'], never);
    leave();
    leave();
    await limits.enter(['a'], never);
    const controller = new AbortController();
    const second = limits.enter(['a'], controller.signal);
    controller.abort(new Error('full'));
    await expect(second).rejects.toThrow('full');
  });
});
