/** Two runs side by side, aligned step by step. */
import { useQuery } from '@tanstack/react-query';
import { createContext, useContext, useMemo, useState, type ReactNode } from 'react';
import { fetchTrace } from '../api/traces.ts';
import { compareStories, type CallPair, type ComparedTurn } from '../record/comparison.ts';
import { visibleText } from '../record/format.ts';
import { storyOf, type StoryCall, type Turn } from '../record/story.ts';
import { bodyOf, type Trace } from '../record/trace.ts';
import { Link, useAddress } from '../router.tsx';
import { Chip, toneOfObservation } from '../ui/chip.tsx';
import { useFew } from '../ui/few.tsx';
import { Loading, Problem } from '../ui/problem.tsx';
import { Prose } from '../ui/prose.tsx';
import { StatusChip } from '../ui/status-chip.tsx';
import { useTitle } from '../ui/use-title.ts';
import { Arguments, Value } from '../ui/value.tsx';
import { useWords } from '../words/words.tsx';
import { ActedBody, LargeBody, LoadBody, ThoughtBody } from './run/cards.tsx';
import { Totals } from './run/conclusion-card.tsx';
import { useBodies, withBodies, type LoadBody as Load } from './run/use-bodies.ts';

const idle: Load = async () => {};
/** What loads bodies of the run on the left and of that on the right. */
const Loaders = createContext({ left: idle, right: idle });

export function Compare() {
  const { say } = useWords();
  const { query } = useAddress();
  const left = useTrace(query.get('a'));
  const right = useTrace(query.get('b'));
  useTitle(say('compare.title'));
  if (!query.get('a') || !query.get('b')) {
    return (
      <div className="empty-list">
        <h1>{say('compare.title')}</h1>
        <p className="quiet">{say('compare.choose')}</p>
        <Link to="/runs">{say('state.allRuns')}</Link>
      </div>
    );
  }
  const error = left.error ?? right.error;
  if (error) return <Problem error={error} />;
  if (!left.trace || !right.trace) return <Loading />;
  return (
    <Loaders value={{ left: left.load, right: right.load }}>
      <Compared left={left.trace} right={right.trace} />
    </Loaders>
  );
}

/** A run with what has been loaded of it. */
function useTrace(runId: string | null) {
  const { data, error } = useQuery({
    queryKey: ['trace', runId],
    queryFn: ({ signal }) => fetchTrace(runId ?? '', signal),
    enabled: runId !== null && runId !== '',
  });
  const [bodies, load] = useBodies();
  const trace = useMemo(() => data && withBodies(data, bodies), [data, bodies]);
  return { trace, error, load };
}

function Compared({ left, right }: { left: Trace; right: Trace }) {
  const { say } = useWords();
  const [isBrief, setBrief] = useState(false);
  const { turns, partsAt, isCertain } = useMemo(() => compareStories(storyOf(left), storyOf(right)), [left, right]);
  const all = isBrief ? turns.filter(({ isSame }) => isSame !== true) : turns;
  const { shown, more } = useFew(all);
  const alike = isCertain ? 'compare.allSame' : 'compare.sameSoFar';
  return (
    <div className="compare">
      <div className="list-head">
        <h1>{say('compare.title')}</h1>
        <label className="check">
          <input type="checkbox" checked={isBrief} onChange={(event) => setBrief(event.target.checked)} />
          {say('compare.hideSame')}
        </label>
      </div>
      <p className="hint account">{partsAt === undefined ? say(alike) : say('compare.partsAt', { step: partsAt })}</p>
      <div className="pair heads">
        <Side trace={left} label={say('compare.left')} />
        <Side trace={right} label={say('compare.right')} />
      </div>
      {shown.map((turn) => (
        <ComparedStep key={turn.key} turn={turn} />
      ))}
      {more}
      <div className="pair">
        <Answer trace={left} />
        <Answer trace={right} />
      </div>
    </div>
  );
}

function Side({ trace: { run }, label }: { trace: Trace; label: string }) {
  const { say } = useWords();
  return (
    <section aria-label={label}>
      <h2 dir="auto">
        <Link to={`/runs/${encodeURIComponent(run.id)}`}>{visibleText(run.question ?? say('list.noQuestion'))}</Link>
      </h2>
      <p className="meta">
        <StatusChip run={run} />
        <span>{visibleText(run.agent ?? '')}</span>
      </p>
      <Totals run={run} />
    </section>
  );
}

function ComparedStep({ turn }: { turn: ComparedTurn }) {
  const { say, wordFor } = useWords();
  const standing = turn.isSame === undefined ? 'unknown' : turn.isSame ? 'same' : 'differs';
  return (
    <section className="compared">
      <h2>
        {say('run.step', { step: turn.step })}{' '}
        {turn.purpose !== 'think' && <span className="quiet">{wordFor('purpose', turn.purpose)} </span>}
        <Chip tone={standing === 'differs' ? 'warn' : 'quiet'}>{say(`compare.${standing}`)}</Chip>
      </h2>
      <Pair left={<ThoughtSide turn={turn.left} />} right={<ThoughtSide turn={turn.right} />} />
      {turn.calls.map((pair, at) => (
        <ComparedCall key={at} pair={pair} />
      ))}
    </section>
  );
}

function Pair({ left, right }: { left: ReactNode; right: ReactNode }) {
  const load = useContext(Loaders);
  return (
    <div className="pair">
      <LoadBody value={load.left}>{left}</LoadBody>
      <LoadBody value={load.right}>{right}</LoadBody>
    </div>
  );
}

function ThoughtSide({ turn }: { turn: Turn | undefined }) {
  const { say } = useWords();
  if (!turn) return <p className="quiet nothing">{say('compare.nothing')}</p>;
  return (
    <div className="card thinking">
      <ActedBody record={turn.acted} />
      {turn.thought ? <ThoughtBody record={turn.thought} /> : <p className="quiet">{say('lost.missing')}</p>}
    </div>
  );
}

function ComparedCall({ pair }: { pair: CallPair }) {
  const { say } = useWords();
  const { left, right, likeness, hasSameResult } = pair;
  const words = {
    same: undefined,
    unknown: undefined,
    arguments: say('compare.otherArguments'),
    only_left: say('compare.onlyLeft'),
    only_right: say('compare.onlyRight'),
  }[likeness];
  const hasOtherResult = left !== undefined && right !== undefined && hasSameResult === false;
  return (
    <div className="compared-call" data-same={likeness === 'same' && hasSameResult}>
      {(words !== undefined || hasOtherResult) && (
        <p className="marks">
          {words !== undefined && <Chip tone="warn">{words}</Chip>}
          {hasOtherResult && <Chip tone="warn">{say('compare.otherResult')}</Chip>}
        </p>
      )}
      <Pair left={<CallSide call={left} />} right={<CallSide call={right} />} />
    </div>
  );
}

function CallSide({ call }: { call: StoryCall | undefined }) {
  const { say, wordFor } = useWords();
  if (!call) return <p className="quiet nothing">{say('compare.nothing')}</p>;
  const { observed } = call;
  const observation = bodyOf(observed, 'observed')?.observation;
  const status = observed?.status ?? observation?.status ?? 'ok';
  const openText = (state: StoryCall['state']) =>
    state === 'running' || state === 'waiting' ? wordFor('status', state) : say('lost.missing');
  return (
    <div className="card operation">
      <p className="tool">
        <code>{visibleText(call.tool ?? say('call.unknownTool'))}</code>{' '}
        {status !== 'ok' && <Chip tone={toneOfObservation(status)}>{wordFor('observation', status)}</Chip>}
      </p>
      {call.args !== undefined && <Arguments text={call.args} />}
      {observation?.message != null && <p dir="auto">{visibleText(observation.message)}</p>}
      {observation?.data != null && <Value json={observation.data} />}
      {observed && !observation && <LargeBody record={observed} />}
      {!observed && <p className="quiet">{openText(call.state)}</p>}
    </div>
  );
}

function Answer({ trace: { run } }: { trace: Trace }) {
  const { say } = useWords();
  return (
    <section className="card conclusion">
      <h2>{say('card.conclusion')}</h2>
      {run.answer ? <Prose text={run.answer} /> : <p className="quiet">{say('run.noAnswer')}</p>}
    </section>
  );
}
