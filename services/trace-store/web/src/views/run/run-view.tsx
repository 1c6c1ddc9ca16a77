/** One run: its head, what waits for a person, and the run itself through one of three lenses. */
import { useMemo } from 'react';
import { ApiError } from '../../api/request.ts';
import { visibleText } from '../../record/format.ts';
import { overdueSince, storyOf } from '../../record/story.ts';
import { bodyOf, type Trace, type TracedRun } from '../../record/trace.ts';
import { addressWith, Link, useAddress } from '../../router.tsx';
import { Loading, Problem } from '../../ui/problem.tsx';
import { Prose } from '../../ui/prose.tsx';
import { StatusChip } from '../../ui/status-chip.tsx';
import { useNow } from '../../ui/use-now.ts';
import { useTitle } from '../../ui/use-title.ts';
import { useWords } from '../../words/words.tsx';
import { NotFound } from '../not-found.tsx';
import { PendingCalls } from '../pending-calls.tsx';
import { CardLens } from './card-lens.tsx';
import { LoadBody } from './cards.tsx';
import { Totals } from './conclusion-card.tsx';
import { ExplanationLens } from './explanation-lens.tsx';
import { OpenDetailsProvider } from './open-details.tsx';
import { RunId } from './record-details.tsx';
import { RunActions } from './run-actions.tsx';
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
  const { say } = useWords();
  const { query } = useAddress();
  const run = standing(trace.run, live);
  const isGoing = run.status === 'running';
  const nowMs = useNow(isGoing, 10_000);
  const overdue = overdueSince({ run, records: trace.records }, nowMs);
  // What a stream still brings is no silence.
  const isLost = isGoing && (overdue !== undefined || run.isLost);
  const story = useMemo(() => storyOf(trace, { isLost }), [trace, isLost]);
  const lens = lenses.find((each) => each === query.get('lens')) ?? 'cards';
  const at = query.get('at');
  const subRuns = useSubRuns(runId, story, run.status !== 'ended');
  const lostCount = story.turns.reduce(
    (sum, { lost, calls }) => sum + lost.length + calls.filter(({ lost: call }) => call).length,
    0,
  );
  return (
    <RunId value={runId}>
      <LoadBody value={live.loadBody}>
        <OpenDetailsProvider>
          <RunHead run={run} trace={trace} overdue={overdue} isLost={isLost} lens={lens} />
          {live.view && live.view.pending.length > 0 && (
            <PendingCalls runId={runId} pending={live.view.pending} onDone={live.refresh} />
          )}
          {lostCount > 0 && lens !== 'explanation' && (
            <p className="hint account">{say('lost.account', { count: lostCount, shown: lostCount })}</p>
          )}
          {live.connection === 'broken' && (
            <p className="hint account" role="status">
              {say('run.reconnecting')}
            </p>
          )}
          <div className="lens-row">
            <LensChoice lens={lens} query={query} />
            <RunActions
              runId={runId}
              status={run.status}
              forkOf={startedOf(trace)?.forkOf?.runId}
              canAct={live.view !== undefined}
              onDone={live.refresh}
            />
          </div>
          {lens === 'waterfall' && <WaterfallLens story={story} isLive={isGoing && !isLost} />}
          {lens === 'explanation' && <ExplanationLens run={run} story={story} isLost={isLost} />}
          {lens === 'cards' && (
            <SubRuns value={subRuns}>
              <CardLens
                run={run}
                story={story}
                speaking={live.speaking}
                isLive={isGoing && !isLost}
                at={at === null ? undefined : Number(at)}
              />
            </SubRuns>
          )}
        </OpenDetailsProvider>
      </LoadBody>
    </RunId>
  );
}

/** What the orchestrator says counts while the run has not ended: whether it waits is not in the log. */
function standing(run: TracedRun, { view }: LiveRun): TracedRun {
  if (run.status === 'ended' || !view || view.status === 'ended') return run;
  return { ...run, status: view.status, stopReason: view.stopReason };
}

function LensChoice({ lens, query }: { lens: Lens; query: URLSearchParams }) {
  const { say } = useWords();
  return (
    <nav className="lenses" aria-label={say('lens.label')}>
      {lenses.map((each) => (
        <Link
          key={each}
          to={addressWith(query, { lens: each === 'cards' ? '' : each, at: '' })}
          aria-current={each === lens ? 'page' : undefined}
        >
          {say(`lens.${each}`)}
        </Link>
      ))}
    </nav>
  );
}

type RunHeadProps = { run: TracedRun; trace: Trace; overdue: string | undefined; isLost: boolean; lens: Lens };

function RunHead({ run, trace, overdue, isLost, lens }: RunHeadProps) {
  const { say, time } = useWords();
  const started = startedOf(trace);
  const traceLink = safeLink(trace.links?.trace);
  const forkOf = run.forkOf ?? started?.forkOf;
  const parent = run.parent ?? started?.parent;
  return (
    <div className="run-head">
      <p className="crumb">
        <Link to="/runs">{say('nav.runs')}</Link>
      </p>
      <h1 dir="auto">{visibleText(run.question ?? say('list.noQuestion'))}</h1>
      <div className="meta">
        <StatusChip run={{ ...run, isLost }} />
        <span>{visibleText(run.agent ?? say('list.unknownAgent'))}</span>
        {run.user !== null && <span dir="auto">{say('run.user', { user: visibleText(run.user) })}</span>}
        {run.session !== null && (
          <Link to={`/runs?${new URLSearchParams({ session: run.session })}`} dir="auto">
            {say('run.inSession', { session: visibleText(run.session) })}
          </Link>
        )}
        {run.startedAt !== null && <time dateTime={run.startedAt}>{time(run.startedAt)}</time>}
        {forkOf && (
          <Link to={`/runs/${forkOf.runId}`}>
            {say('run.forkOf', { run: shortId(forkOf.runId), step: forkOf.fromStep })}
          </Link>
        )}
        {parent && <Link to={`/runs/${parent.runId}`}>{say('run.parent', { run: shortId(parent.runId) })}</Link>}
        {traceLink !== undefined && (
          <a href={traceLink} rel="noreferrer noopener" target="_blank">
            {say('run.elsewhere')}
          </a>
        )}
      </div>
      {isLost && (
        <p className="problem">
          {overdue === undefined
            ? say('status.silent', { last: time(run.lastAt) })
            : say('status.lostWhy', { deadline: time(overdue), last: time(run.lastAt) })}
        </p>
      )}
      {run.status !== 'ended' && lens !== 'explanation' && <Totals run={run} />}
      {run.status === 'ended' && lens === 'cards' && run.answer ? <ShortAnswer answer={run.answer} /> : null}
    </div>
  );
}

/** The first sentence of the answer, before all that led to it. */
function ShortAnswer({ answer }: { answer: string }) {
  const { say } = useWords();
  const first = answer.split('\n').find((line) => line.trim() !== '') ?? '';
  return (
    <div className="short-answer">
      <Prose text={first} />
      <a href="#end">{say('run.toEnd')}</a>
    </div>
  );
}

function startedOf({ records }: Trace) {
  return bodyOf(
    records.find(({ kind }) => kind === 'started'),
    'started',
  );
}

/** An address of the web, or nothing: what an operator wrote must not become a script. */
function safeLink(address: string | null | undefined): string | undefined {
  return address && /^https?:\/\//i.test(address) ? address : undefined;
}

function shortId(runId: string): string {
  return `${runId.slice(0, 8)}…${runId.slice(-4)}`;
}
