import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createWaitingRoom } from './waiting-room.ts';

type Piece = { id: number; delivery: number };
const createRoom = () => createWaitingRoom<Piece>(({ id }) => String(id));
const piece = (id: number, delivery = 1): Piece => ({ id, delivery });

describe('turns', () => {
  test('lanes are served one after the other, each in its order', () => {
    const room = createRoom();
    for (const id of [1, 2, 3]) room.add(piece(id), { lane: 'flood', nowMs: 0 });
    room.add(piece(4), { lane: 'quiet', nowMs: 0 });
    expect([room.next(), room.next(), room.next(), room.next(), room.next()].map((held) => held?.work.id)).toEqual([
      1,
      4,
      2,
      3,
      undefined,
    ]);
  });

  test('I6: whatever the lanes hold, each waits for at most one of every other lane', () => {
    const lanes = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 10 });
    fc.assert(
      fc.property(lanes, fc.nat(20), (sizes, already) => {
        const room = createRoom();
        let id = 0;
        for (const [lane, size] of sizes.entries()) {
          for (let i = 0; i < size; i += 1) room.add(piece((id += 1)), { lane: `lane ${lane}`, nowMs: 0 });
        }
        for (let i = 0; i < already; i += 1) room.next();
        room.add(piece(-1), { lane: 'late', nowMs: 0 });
        const order = Array.from({ length: sizes.length + 1 }, () => room.next()?.work.id);
        expect(order).toContain(-1);
      }),
    );
  });
});

describe('what is held', () => {
  test('the same work again takes the place of the older delivery, waiting or busy', () => {
    const room = createRoom();
    expect(room.add(piece(1), { lane: 'a', nowMs: 0 })).toBe(true);
    expect(room.add(piece(1, 2), { lane: 'a', nowMs: 1 })).toBe(false);
    expect(room.waitingIn('a')).toBe(1);
    const busy = room.next();
    expect(busy).toMatchObject({ work: piece(1, 2), isRunning: true });
    expect(room.add(piece(1, 3), { lane: 'a', nowMs: 2 })).toBe(false);
    expect(room.next()).toBeUndefined();
    expect(busy?.work.delivery).toBe(3);
    room.remove(busy!);
    expect([...room.held()]).toEqual([]);
    expect(room.add(piece(1, 4), { lane: 'a', nowMs: 3 })).toBe(true);
  });

  test('only what waits for too long is taken out', () => {
    const room = createRoom();
    for (const [id, nowMs] of [
      [1, 0],
      [2, 10],
      [3, 20],
    ] as const)
      room.add(piece(id), { lane: 'a', nowMs });
    room.next();
    expect(room.takeWaiting(15).map(({ work }) => work.id)).toEqual([2]);
    expect([...room.held()].map(({ work }) => work.id)).toEqual([1, 3]);
    expect(room.next()?.work.id).toBe(3);
  });
});
