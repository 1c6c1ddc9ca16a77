/** Conversations: runs of one session together. */
import { Loading, Problem } from '../ui/problem.tsx';
import { useTitle } from '../ui/use-title.ts';
import { useWords } from '../words/words.tsx';
import { Older, SessionGroups, useRuns } from './run-list.tsx';
import { RunTable } from './run-table.tsx';

export function Sessions() {
  const { say } = useWords();
  const runs = useRuns({});
  useTitle(say('nav.sessions'));
  const shown = (runs.data?.pages.flatMap((page) => page.items) ?? []).filter(({ session }) => session !== null);
  return (
    <>
      <div className="list-head">
        <h1>{say('nav.sessions')}</h1>
        <p className="quiet">{say('session.why')}</p>
      </div>
      {runs.isPending && <Loading />}
      {runs.isError && <Problem error={runs.error} onRetry={() => void runs.refetch()} />}
      {runs.isSuccess && shown.length === 0 && !runs.hasNextPage && <p className="quiet centred">{say('list.none')}</p>}
      <SessionGroups runs={shown}>{(group) => <RunTable runs={group} />}</SessionGroups>
      <Older runs={runs} count={shown.length} />
    </>
  );
}
