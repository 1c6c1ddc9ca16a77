/**
 * Work that was delivered here and is neither done nor given back: who waits, who is busy, whose turn it is. Lanes are served in
 * turn, so one with much work doesn't delay another (I6). No clock, no I/O.
 */

export type Held<T> = { work: T; lane: string; arrivedAtMs: number; isRunning: boolean };

export type WaitingRoom<T> = {
  /** False when the same work is held already: then the newer delivery takes the place of the older one. */
  add(work: T, at: { lane: string; nowMs: number }): boolean;
  /** The next to begin with, of the lane whose turn it is. */
  next(): Held<T> | undefined;
  waitingIn(lane: string): number;
  /** Everything that is held, waiting or busy. */
  held(): Iterable<Held<T>>;
  remove(held: Held<T>): void;
  /** Takes out those waiting that arrived before a time. */
  takeWaiting(arrivedBeforeMs: number): Held<T>[];
};

/** `idOf` tells whether two deliveries are of the same work. */
export function createWaitingRoom<T>(idOf: (work: T) => string): WaitingRoom<T> {
  const held = new Map<string, Held<T>>();
  const lanes = new Map<string, Held<T>[]>();
  let turn = 0;

  return {
    add(work, { lane, nowMs }) {
      const known = held.get(idOf(work));
      if (known) {
        known.work = work;
        return false;
      }
      const arrived = { work, lane, arrivedAtMs: nowMs, isRunning: false };
      held.set(idOf(work), arrived);
      const waiting = lanes.get(lane);
      if (waiting) waiting.push(arrived);
      else lanes.set(lane, [arrived]);
      return true;
    },
    next() {
      const all = [...lanes.values()];
      for (let offset = 0; offset < all.length; offset += 1) {
        const found = all[(turn + offset) % all.length]?.shift();
        if (!found) continue;
        turn = (turn + offset + 1) % all.length;
        found.isRunning = true;
        return found;
      }
      return undefined;
    },
    waitingIn: (lane) => lanes.get(lane)?.length ?? 0,
    held: () => held.values(),
    remove: (one) => void held.delete(idOf(one.work)),
    takeWaiting(arrivedBeforeMs) {
      const isTaken = (one: Held<T>) => one.arrivedAtMs < arrivedBeforeMs;
      const taken = [...lanes.values()].flat().filter(isTaken);
      for (const [lane, waiting] of lanes)
        lanes.set(
          lane,
          waiting.filter((one) => !isTaken(one)),
        );
      for (const one of taken) held.delete(idOf(one.work));
      return taken;
    },
  };
}
