import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import * as rules from './slice.ts';

const after = (slice: rules.Slice | undefined): rules.Slice => {
  if (!slice) throw new Error('it had too little');
  return slice;
};

describe('a slice', () => {
  const drawn = rules.adopt(rules.emptySlice, 100n);

  it('gives to calls what is free, and takes back what they did not use', () => {
    const under = after(rules.take(drawn, 60n));
    expect(rules.take(under, 41n)).toBeUndefined();
    expect(rules.settle(under, { need: 60n, covered: rules.coveredBy(60n, 25n) })).toMatchObject({
      free: 75n,
      used: 0n,
    });
    expect([rules.coveredBy(60n, 61n), rules.coveredBy(60n, -1n)]).toEqual([60n, 0n]);
  });

  it('finds by what was drawn in all what a lost answer left open', () => {
    expect(rules.adopt(drawn, 150n)).toMatchObject({ free: 150n, net: 150n });
    const released = rules.release(drawn, 30n);
    expect(rules.adopt(released, 70n)).toMatchObject({ free: 70n });
    // Postgres never heard of it.
    expect(rules.adopt(released, 100n)).toMatchObject({ free: 100n });
  });

  it('wants enough for calls to come and for as many as were under way, and nothing once nobody calls', () => {
    const noted = rules.note(rules.emptySlice, 10n);
    expect(rules.wishOf(noted, 8)).toBe(80n);
    const busy = after(rules.take(rules.adopt(noted, 80n), 50n));
    expect(rules.wishOf(busy, 8)).toBe(100n);
    const idle = rules.rotate(rules.rotate(rules.settle(busy, { need: 50n, covered: 50n })));
    expect([rules.wishOf(idle, 8), rules.surplusOf(rules.rotate(idle), 8)]).toEqual([0n, 30n]);
  });
});

/** Postgres as the slices of two replicas and direct holds meet it, with answers and charges that come late or never. */
const limit = 1_000n;
const eighth = 8n;
const replica = fc.constantFrom(0, 1);
const amount = fc.bigInt({ min: 0n, max: 200n });
const step = fc.oneof(
  fc.record({ kind: fc.constant('draw' as const), replica, isLost: fc.boolean() }),
  fc.record({ kind: fc.constant('give-back' as const), replica, amount, isLost: fc.boolean(), isDone: fc.boolean() }),
  fc.record({ kind: fc.constant('call' as const), replica, need: amount }),
  fc.record({ kind: fc.constant('end' as const), replica, taken: amount, isCharged: fc.boolean() }),
  fc.record({ kind: fc.constant('journal' as const) }),
  fc.record({ kind: fc.constant('hold' as const), need: amount }),
  fc.record({ kind: fc.constant('crash' as const), replica }),
);

type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;
type Row = { amount: bigint; net: bigint };
type Replica = { slice: rules.Slice; row: Row; isKnown: boolean; calls: bigint[] };

function createWorld() {
  const fresh = (): Replica => ({ slice: rules.emptySlice, row: { amount: 0n, net: 0n }, isKnown: false, calls: [] });
  const replicas = [fresh(), fresh()];
  const late: { row: Row; covered: bigint; taken: bigint }[] = [];
  let held = 0n;
  let spent = 0n;
  const charge = ({ row, covered, taken }: (typeof late)[0]) => {
    const part = covered < row.amount ? covered : row.amount;
    row.amount -= part;
    held -= part;
    spent += taken;
  };
  const take = (one: Replica, need: bigint) => {
    one.slice = rules.note(one.slice, need);
    const next = rules.take(one.slice, need);
    if (!next) return;
    one.slice = next;
    one.calls.push(need);
  };
  const draw = (one: Replica, isLost: boolean) => {
    const wish = rules.wishOf(one.slice, 8);
    if (!one.isKnown) {
      held -= one.row.amount;
      one.row = { amount: 0n, net: 0n };
    }
    const granted = [wish, (limit - held - spent) / eighth].reduce((a, b) => (a < b ? a : b));
    if (granted > 0n && granted >= rules.leastOf(one.slice)) {
      held += granted;
      one.row.amount += granted;
      one.row.net += granted;
    }
    if (isLost) return;
    one.isKnown = true;
    one.slice = rules.adopt(one.slice, one.row.net);
  };
  return {
    step(now: Step) {
      const one = replicas['replica' in now ? now.replica : 0] as Replica;
      switch (now.kind) {
        case 'draw':
          return draw(one, now.isLost);
        case 'give-back': {
          const part = now.amount < one.slice.free ? now.amount : one.slice.free;
          if (part <= 0n) return;
          one.slice = rules.release(one.slice, part);
          if (now.isDone) {
            one.row.amount -= part;
            one.row.net -= part;
            held -= part;
          }
          if (!now.isLost) one.slice = rules.adopt(one.slice, one.row.net);
          return;
        }
        case 'call':
          return take(one, now.need);
        case 'end': {
          const need = one.calls.shift();
          if (need === undefined) return;
          const taken = now.taken < need ? now.taken : need;
          const covered = rules.coveredBy(need, taken);
          const settlement = { row: one.row, covered, taken };
          if (now.isCharged) charge(settlement);
          else late.push(settlement);
          one.slice = rules.settle(one.slice, { need, covered });
          return;
        }
        case 'journal':
          late.splice(0).forEach(charge);
          return;
        case 'hold':
          if (now.need <= limit - held - spent) spent += now.need;
          return;
        case 'crash':
          // Its lease lapses: what was left of its slice is everybody's again. Its calls are asked for no more.
          held -= one.row.amount;
          one.row.amount = 0n;
          replicas[now.replica] = fresh();
          // What it had in the journal is charged beyond its slice, as late charges are.
          late.splice(0, late.length, ...late.filter(({ row }) => row !== one.row));
      }
    },
    books: () => ({ held, spent, rows: replicas.map(({ row }) => row.amount), replicas, late }),
  };
}

it('I13: whatever is drawn, held, charged, given back, lost or dead, nothing passes the limit', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 60 }), (steps) => {
      const world = createWorld();
      for (const one of steps) {
        world.step(one);
        const { held, spent, rows, replicas, late } = world.books();
        expect(held).toBe(rows.reduce((sum, row) => sum + row, 0n));
        expect(held + spent <= limit && held >= 0n).toBe(true);
        for (const [position, { slice, row }] of replicas.entries()) {
          const waiting = late.filter((charge) => charge.row === row).reduce((sum, { covered }) => sum + covered, 0n);
          expect(slice.free >= 0n && slice.free + slice.used + waiting <= (rows[position] ?? 0n)).toBe(true);
        }
      }
    }),
    { numRuns: 2_000 },
  );
});

it('nobody is refused for what another replica only has in reserve', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 40 }), fc.bigInt({ min: 1n, max: 200n }), (steps, need) => {
      const world = createWorld();
      for (const one of steps) world.step(one);
      world.step({ kind: 'journal' });
      // Called back: both learn what they have, then give all that is free back.
      for (const position of [0, 1] as const) {
        const { replicas } = world.books();
        const one = replicas[position] as Replica;
        one.slice = rules.adopt(one.slice, one.row.net);
        world.step({ kind: 'give-back', replica: position, amount: one.slice.free, isLost: false, isDone: true });
      }
      const { held, spent, replicas } = world.books();
      const underWay = replicas.flatMap(({ calls }) => calls).reduce((sum, call) => sum + call, 0n);
      expect(held).toBe(underWay);
      world.step({ kind: 'hold', need });
      expect(world.books().spent > spent).toBe(need <= limit - spent - underWay);
    }),
    { numRuns: 500 },
  );
});
