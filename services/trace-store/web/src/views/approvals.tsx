/** Everything that waits for a person, over all runs of the app. */
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { fetchWaitingRuns } from '../api/runs.ts';
import { visibleText } from '../record/format.ts';
import { Link } from '../router.tsx';
import { Loading, Problem } from '../ui/problem.tsx';
import { useTitle } from '../ui/use-title.ts';
import { useWords } from '../words/words.tsx';
import { PendingCalls } from './pending-calls.tsx';

const refreshMs = 4_000;

export function Approvals() {
  const { say } = useWords();
  const client = useQueryClient();
  const waiting = useQuery({
    queryKey: ['waiting'],
    queryFn: ({ signal }) => fetchWaitingRuns(signal),
    refetchInterval: refreshMs,
  });
  const [said, setSaid] = useState('');
  useTitle(say('nav.approvals'));
  const runs = (waiting.data ?? []).filter(({ pending }) => pending.length > 0);
  return (
    <>
      <div className="list-head">
        <h1>{say('nav.approvals')}</h1>
      </div>
      <p className="visually-hidden" role="status">
        {said}
      </p>
      {waiting.isPending && <Loading />}
      {waiting.isError && <Problem error={waiting.error} onRetry={() => void waiting.refetch()} />}
      {waiting.isSuccess && runs.length === 0 && (
        <div className="empty-list">
          <h2>{say('approval.none')}</h2>
          <p className="quiet">{say('approval.noneWhy')}</p>
        </div>
      )}
      {runs.map((run) => (
        <section key={run.id} className="waiting-run">
          <p className="meta">
            <span>{visibleText(run.agent)}</span>
            <Link to={`/runs/${encodeURIComponent(run.id)}`}>{say('approval.openRun')}</Link>
          </p>
          <PendingCalls
            runId={run.id}
            pending={run.pending}
            onDone={(sentence = '') => {
              setSaid(sentence);
              void client.invalidateQueries({ queryKey: ['waiting'] });
            }}
          />
        </section>
      ))}
    </>
  );
}
