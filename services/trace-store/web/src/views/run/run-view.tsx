/** One run: its head, what waits for a person, and the run itself through one of three lenses. */
import { useMemo, useState } from 'react';
import { ApiError } from '../../api/request.ts';
import { overdueSince, storyOf, type Story } from '../../record/story.ts';
import type { Trace, TracedRun } from '../../record/trace.ts';
import { addressWith, Link, useAddress } from '../../router.tsx';
import { Loading, Problem } from '../../ui/problem.tsx';
import { useNow } from '../../ui/use-now.ts';
import { useTitle } from '../../ui/use-title.ts';
import { useWords } from '../../words/words.tsx';
import { NotFound } from '../not-found.tsx';
import { PendingCalls } from '../pending-calls.tsx';
import { CardLens } from './card-lens.tsx';
import { LoadBody, SeesThoughts } from './cards.tsx';
import { ExplanationLens } from './explanation-lens.tsx';
import { OpenDetailsProvider } from './open-details.tsx';
import { RunId } from './record-details.tsx';
import { RunActions } from './run-actions.tsx';
import { RunHead, startedOf } from './run-head.tsx';
import { SubRuns, useSubRuns } from './sub-runs.ts';
import { useLiveRun, type LiveRun } from './use-live-run.ts';
import { WaterfallLens } from './waterfall-lens.tsx';

const lenses = ['cards', 'waterfall', 'explanation'] as const;
type Lens = (typeof lenses)[number];

export function RunView({ runId }: { runId: string }) {
  const live = useLiveRun(runId);
  const { say } = useWords();
  useTitle(live.trace?.run.question ?? say('nav.runs'));
  if (live.trace) return <ShownRun runId={runId} live={live} trace={live.trace} />;
  if (live.error instanceof ApiError && live.error.status === 404) return <NotFound why={say('state.noSuchRun')} />;
  if (live.error) return <Problem error={live.error} onRetry={live.refresh} />;
  return <Loading />;
}

function ShownRun({ runId, live, trace }: { runId: string; live: LiveRun; trace: Trace }) {
  const { query } = useAddress();
  const run = standing(trace.run, live);
  const isGoing = run.status === 'running';
  const nowMs = useNow(isGoing, 10_000);
  const overdue = overdueSince({ run, records: trace.records }, nowMs);
  // What a stream still brings is no silence.
  const isLost = isGoing && (overdue !== undefined || run.isLost);
  const story = useMemo(() => storyOf(trace, { isLost }), [trace, isLost]);
  const atFirst = lensAtFirst(trace);
  const lens = lenses.find((each) => each === query.get('lens')) ?? atFirst;
  const subRuns = useSubRuns(runId, story, run.status !== 'ended');
  return (
    <RunId value={runId}>
      <LoadBody value={live.loadBody}>
        <SeesThoughts value={trace.lens !== 'explained'}>
          <SubRuns value={subRuns}>
            <OpenDetailsProvider>
              <RunHead run={run} trace={trace} overdue={overdue} isLost={isLost} lens={lens} />
              <Notices runId={runId} live={live} story={lens === 'explanation' ? undefined : story} />
              <div className="lens-row">
                <LensChoice lens={lens} atFirst={atFirst} query={query} />
                <RunActions
                  runId={runId}
                  status={run.status}
                  forkOf={startedOf(trace)?.forkOf?.runId}
                  canAct={live.view !== undefined}
                  onDone={live.refresh}
                />
              </div>
              <ThroughLens lens={lens} run={run} story={story} isLost={isLost} speaking={live.speaking} />
            </OpenDetailsProvider>
          </SubRuns>
        </SeesThoughts>
      </LoadBody>
    </RunId>
  );
}

/** What waits for a person, what is missing of the story that is shown, and whether the connection holds. */
function Notices({ runId, live, story }: { runId: string; live: LiveRun; story: Story | undefined }) {
  const { say, count } = useWords();
  const [said, setSaid] = useState('');
  const lostCount = (story?.turns ?? []).reduce(
    (sum, { lost, calls }) => sum + lost.length + calls.filter(({ lost: call }) => call).length,
    0,
  );
  const decided = (sentence = '') => {
    setSaid(sentence);
    live.refresh();
  };
  return (
    <>
      <p className="visually-hidden" role="status">
        {said}
      </p>
      {live.view && live.view.pending.length > 0 && (
        <PendingCalls runId={runId} pending={live.view.pending} onDone={decided} />
      )}
      {lostCount > 0 && (
        <p className="hint account">{say('lost.account', { count: lostCount, shown: count(lostCount) })}</p>
      )}
      {live.connection === 'broken' && (
        <p className="hint account" role="status">
          {say('run.reconnecting')}
        </p>
      )}
    </>
  );
}

type ThroughLensProps = { lens: Lens; run: TracedRun; story: Story; isLost: boolean; speaking: string };

function ThroughLens({ lens, run, story, isLost, speaking }: ThroughLensProps) {
  const { query } = useAddress();
  const isLive = run.status === 'running' && !isLost;
  const at = query.get('at');
  if (lens === 'waterfall') return <WaterfallLens story={story} isLive={isLive} />;
  if (lens === 'explanation') return <ExplanationLens run={run} story={story} isLost={isLost} />;
  return (
    <CardLens run={run} story={story} speaking={speaking} isLive={isLive} at={at === null ? undefined : Number(at)} />
  );
}

/** What the orchestrator says counts while the run has not ended: whether it waits is not in the log. */
function standing(run: TracedRun, { view }: LiveRun): TracedRun {
  if (run.status === 'ended' || !view || view.status === 'ended') return run;
  return { ...run, status: view.status, stopReason: view.stopReason };
}

/** Who sees no thoughts begins with the explanation. */
function lensAtFirst(trace: Trace): Lens {
  return trace.lens === 'explained' ? 'explanation' : 'cards';
}

function LensChoice({ lens, atFirst, query }: { lens: Lens; atFirst: Lens; query: URLSearchParams }) {
  const { say } = useWords();
  return (
    <nav className="lenses" aria-label={say('lens.label')}>
      {lenses.map((each) => (
        <Link
          key={each}
          to={addressWith(query, { lens: each === atFirst ? '' : each, at: '' })}
          aria-current={each === lens ? 'page' : undefined}
        >
          {say(`lens.${each}`)}
        </Link>
      ))}
    </nav>
  );
}
