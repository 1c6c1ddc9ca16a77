/**
 * Group commit: what comes in while a statement is under way goes into the next one together, and each is told its own result
 * only after the commit. So a hot row is locked once for many calls, and their cost is shared.
 */
import { UnavailableError } from '@pawl/contracts';
import { outsideTraces } from '@pawl/telemetry';

export type GroupCommitOptions<Item, Result> = {
  /** Commits all items or none, and gives a result for each. */
  commit(items: readonly Item[]): Promise<Result[]>;
  /** Two items with the same key are never in one group. */
  keyOf(item: Item): string;
  itemsMax: number;
  /** After that nobody waits any longer: it is not known then whether the group was committed. */
  withinMs: number;
};

type Waiting<Item, Result> = { item: Item; answer: PromiseWithResolvers<Result> };

export type GroupCommit<Item, Result> = {
  /** Commits one item. It fails alone for what is wrong with its item alone. */
  commit(item: Item): Promise<Result>;
  isBusy(): boolean;
};

export function createGroupCommit<Item, Result>(options: GroupCommitOptions<Item, Result>): GroupCommit<Item, Result> {
  let waiting: Waiting<Item, Result>[] = [];
  let isBusy = false;

  const flush = async () => {
    isBusy = true;
    while (waiting.length > 0) {
      const group = nextGroup(waiting, options);
      const taken = new Set(group);
      waiting = waiting.filter((one) => !taken.has(one));
      await commitGroup(group, options);
    }
    isBusy = false;
  };
  return {
    isBusy: () => isBusy,
    commit(item) {
      const answer = Promise.withResolvers<Result>();
      waiting.push({ item, answer });
      if (!isBusy) void outsideTraces(flush);
      return answer.promise;
    },
  };
}

function nextGroup<Item, Result>(
  waiting: readonly Waiting<Item, Result>[],
  { keyOf, itemsMax }: GroupCommitOptions<Item, Result>,
): Waiting<Item, Result>[] {
  const keys = new Set<string>();
  const group: Waiting<Item, Result>[] = [];
  for (const one of waiting) {
    if (group.length === itemsMax) break;
    const key = keyOf(one.item);
    if (keys.has(key)) continue;
    keys.add(key);
    group.push(one);
  }
  return group;
}

/** Never throws. A group that fails for another reason than the database being away is tried again one by one. */
async function commitGroup<Item, Result>(
  group: readonly Waiting<Item, Result>[],
  options: GroupCommitOptions<Item, Result>,
): Promise<void> {
  try {
    const results = await within(options.withinMs, options.commit(group.map(({ item }) => item)));
    group.forEach(({ answer }, position) => answer.resolve(results[position] as Result));
  } catch (error) {
    if (group.length === 1 || error instanceof UnavailableError) {
      for (const { answer } of group) answer.reject(error);
      return;
    }
    for (const one of group) await commitGroup([one], options);
  }
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new UnavailableError(`Postgres did not answer within ${ms / 1_000} s`)), ms);
  });
  try {
    return await Promise.race([work, tooLate]);
  } finally {
    clearTimeout(timer);
  }
}
