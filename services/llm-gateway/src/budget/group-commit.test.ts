import { expect, it } from 'vitest';
import { UnavailableError } from '@pawl/contracts';
import { createGroupCommit } from './group-commit.ts';

const options = { keyOf: (item: string) => item, itemsMax: 3, withinMs: 60_000 };

/** A commit that waits until it is let through, and what it was given. */
function gated() {
  const groups: string[][] = [];
  const gates: PromiseWithResolvers<void>[] = [];
  return {
    groups,
    async commit(items: readonly string[]) {
      groups.push([...items]);
      const gate = Promise.withResolvers<void>();
      gates.push(gate);
      await gate.promise;
      return items.map((item) => `${item}!`);
    },
    open: () => gates.shift()?.resolve(),
  };
}

it('takes together what came while it was busy, in order, and answers only after the commit', async () => {
  const gate = gated();
  const { commit } = createGroupCommit({ ...options, commit: gate.commit });
  const answered: string[] = [];
  const all = ['a', 'b', 'c', 'd', 'e'].map(async (item) => answered.push(await commit(item)));
  expect(gate.groups).toEqual([['a']]);
  gate.open();
  await all[0];
  expect([gate.groups, answered]).toEqual([[['a'], ['b', 'c', 'd']], ['a!']]);
  gate.open();
  await all[3];
  gate.open();
  await Promise.all(all);
  expect([gate.groups.at(-1), answered.at(-1)]).toEqual([['e'], 'e!']);
});

it('never has two of the same key in one group', async () => {
  const groups: string[][] = [];
  const { commit } = createGroupCommit({
    ...options,
    async commit(items: readonly string[]) {
      groups.push([...items]);
      return await Promise.resolve([...items]);
    },
  });
  await Promise.all(['a', 'b', 'b', 'c'].map((item) => commit(item)));
  expect(groups).toEqual([['a'], ['b', 'c'], ['b']]);
});

it('fails alone what is wrong alone, and all when the database is away', async () => {
  let isAway = false;
  const { commit } = createGroupCommit({
    ...options,
    async commit(items: readonly string[]) {
      await Promise.resolve();
      if (isAway) throw new UnavailableError('away');
      if (items.includes('bad')) throw new TypeError('bad');
      return [...items];
    },
  });
  const results = await Promise.allSettled(['first', 'a', 'bad', 'b'].map((item) => commit(item)));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
  isAway = true;
  const away = await Promise.allSettled(['a', 'b', 'c'].map((item) => commit(item)));
  expect(away.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
});

it('gives up on a database that does not answer, and goes on with the next group', async () => {
  let isSilent = true;
  const { commit } = createGroupCommit({
    ...options,
    withinMs: 1,
    commit: (items: readonly string[]) => (isSilent ? new Promise<string[]>(() => {}) : Promise.resolve([...items])),
  });
  await expect(commit('a')).rejects.toThrow(UnavailableError);
  isSilent = false;
  expect(await commit('b')).toBe('b');
});
