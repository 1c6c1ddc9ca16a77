/** The list of runs, newest first; its filters live in the address, and its first page keeps itself up to date. */
import { useInfiniteQuery } from '@tanstack/react-query';
import { useEffect, useState, type ReactNode } from 'react';
import { fetchRuns } from '../api/traces.ts';
import { visibleText } from '../record/format.ts';
import type { TracedRun } from '../record/trace.ts';
import { addressWith, goTo, Link, useAddress } from '../router.tsx';
import { Loading, Problem } from '../ui/problem.tsx';
import { useTitle } from '../ui/use-title.ts';
import { useWords } from '../words/words.tsx';
import { RunFilters, filterOf } from './run-filters.tsx';
import { RunTable } from './run-table.tsx';

const refreshMs = 3_000;

export function RunList() {
  const { say } = useWords();
  const { query } = useAddress();
  const filter = filterOf(query);
  const isFiltered = Object.values(filter).some((value) => value !== '');
  const [chosen, setChosen] = useState<string[]>([]);
  useTitle(say('nav.runs'));
  const runs = useRuns(filter);
  const items = runs.data?.pages.flatMap((page) => page.items) ?? [];
  const choose = (id: string) =>
    setChosen((before) => (before.includes(id) ? before.filter((each) => each !== id) : [...before.slice(-1), id]));
  const isGrouped = query.get('group') === 'session';
  return (
    <>
      <div className="list-head">
        <h1>{say('nav.runs')}</h1>
        <RunFilters filter={filter} query={query} />
      </div>
      <div className="list-tools">
        <label className="check">
          <input
            type="checkbox"
            checked={isGrouped}
            onChange={(event) =>
              goTo(addressWith(query, { group: event.target.checked ? 'session' : '' }), { isSamePlace: true })
            }
          />
          {say('list.group')}
        </label>
        {chosen.length === 2 && (
          <Link className="button" to={`/compare?${new URLSearchParams({ a: chosen[0] ?? '', b: chosen[1] ?? '' })}`}>
            {say('list.compare')}
          </Link>
        )}
      </div>
      {runs.isPending && <Loading />}
      {runs.isError && <Problem error={runs.error} onRetry={() => void runs.refetch()} />}
      {runs.isSuccess && items.length === 0 && !runs.hasNextPage && <Empty isFiltered={isFiltered} />}
      {items.length > 0 &&
        (isGrouped ? (
          <SessionGroups runs={items}>
            {(group) => <RunTable runs={group} chosen={chosen} onChoose={choose} />}
          </SessionGroups>
        ) : (
          <RunTable runs={items} chosen={chosen} onChoose={choose} />
        ))}
      <Older runs={runs} count={items.length} />
    </>
  );
}

/** Few runs on a page mean that the store has looked for long enough, not that there are no more: then it is asked again. */
const enoughRuns = 20;

/** The way to older runs; while hardly any are there it is gone by itself. */
export function Older({ runs, count }: { runs: ReturnType<typeof useRuns>; count: number }) {
  const { say } = useWords();
  const { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage } = runs;
  const isLooking = hasNextPage && count < enoughRuns && !isFetchNextPageError;
  useEffect(() => {
    if (isLooking && !isFetchingNextPage) void fetchNextPage();
  }, [isLooking, isFetchingNextPage, fetchNextPage]);
  if (!hasNextPage) return null;
  if (isLooking) {
    return (
      <p className="quiet centred" role="status">
        {say('list.looking')}
      </p>
    );
  }
  return (
    <button type="button" className="more" disabled={isFetchingNextPage} onClick={() => void fetchNextPage()}>
      {say('list.older')}
    </button>
  );
}

/** Runs of a filter, page by page. */
export function useRuns(filter: Record<string, string>) {
  return useInfiniteQuery({
    queryKey: ['runs', filter],
    queryFn: ({ pageParam, signal }) => fetchRuns(filter, pageParam, signal),
    initialPageParam: null as string | null,
    getNextPageParam: ({ next }) => next,
    // More than a page is not asked for again and again.
    refetchInterval: ({ state }) => ((state.data?.pages.length ?? 0) > 1 ? false : refreshMs),
  });
}

function Empty({ isFiltered }: { isFiltered: boolean }) {
  const { say } = useWords();
  return (
    <div className="empty-list">
      <h2>{say(isFiltered ? 'list.noneFits' : 'list.none')}</h2>
      <p className="quiet">{say(isFiltered ? 'list.noneFitsWhy' : 'list.noneWhy')}</p>
      {isFiltered && <Link to="/runs">{say('state.allRuns')}</Link>}
    </div>
  );
}

/** Runs by session, the session of the latest run first. */
export function SessionGroups({ runs, children }: { runs: TracedRun[]; children: (group: TracedRun[]) => ReactNode }) {
  const { say, count } = useWords();
  const groups = Map.groupBy(runs, ({ session }) => session);
  return [...groups].map(([session, group]) => (
    <section key={session ?? ''} className="session">
      <h2>
        {session === null ? (
          say('session.none')
        ) : (
          <Link to={`/runs?${new URLSearchParams({ session })}`}>
            <bdi>{visibleText(session)}</bdi>
          </Link>
        )}
        <span className="quiet">{say('session.runs', { count: group.length, shown: count(group.length) })}</span>
      </h2>
      {children(group)}
    </section>
  ));
}
