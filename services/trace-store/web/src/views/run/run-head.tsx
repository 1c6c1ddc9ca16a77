/** The head of a run: what was asked, how it stands, whose it is, and where it belongs. */
import { visibleText } from '../../record/format.ts';
import { bodyOf, type Trace, type TracedRun } from '../../record/trace.ts';
import { Link } from '../../router.tsx';
import { Prose } from '../../ui/prose.tsx';
import { StatusChip } from '../../ui/status-chip.tsx';
import { useWords } from '../../words/words.tsx';
import { Totals } from './conclusion-card.tsx';

type RunHeadProps = { run: TracedRun; trace: Trace; overdue: string | undefined; isLost: boolean; lens: string };

export function RunHead({ run, trace, overdue, isLost, lens }: RunHeadProps) {
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

/** The fact `started` of a run, where it has come. */
export function startedOf({ records }: Trace) {
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
