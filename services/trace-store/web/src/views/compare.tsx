/** Two runs side by side, aligned step by step. */
import { useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { fetchTrace } from '../api/traces.ts';
import { compareStories, type CallPair, type ComparedTurn } from '../record/comparison.ts';
import { visibleText } from '../record/format.ts';
import { storyOf, type StoryCall, type Turn } from '../record/story.ts';
import { bodyOf, type Trace } from '../record/trace.ts';
import { Link, useAddress } from '../router.tsx';
import { Chip } from '../ui/chip.tsx';
import { Loading, Problem } from '../ui/problem.tsx';
import { Prose } from '../ui/prose.tsx';
import { StatusChip } from '../ui/status-chip.tsx';
import { useTitle } from '../ui/use-title.ts';
import { Arguments, Value } from '../ui/value.tsx';
import { useWords } from '../words/words.tsx';
import { ThoughtText } from './run/cards.tsx';
import { Totals } from './run/conclusion-card.tsx';

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
  if (!left.data || !right.data) return <Loading />;
  return <Compared left={left.data} right={right.data} />;
}

function useTrace(runId: string | null) {
  return useQuery({
    queryKey: ['trace', runId],
    queryFn: ({ signal }) => fetchTrace(runId ?? '', signal),
    enabled: runId !== null && runId !== '',
  });
}

function Compared({ left, right }: { left: Trace; right: Trace }) {
  const { say } = useWords();
  const [isBrief, setBrief] = useState(false);
  const { turns, partsAt } = useMemo(() => compareStories(storyOf(left), storyOf(right)), [left, right]);
  const shown = isBrief ? turns.filter(({ isSame }) => !isSame) : turns;
  return (
    <div className="compare">
      <div className="list-head">
        <h1>{say('compare.title')}</h1>
        <label className="check">
          <input type="checkbox" checked={isBrief} onChange={(event) => setBrief(event.target.checked)} />
          {say('compare.hideSame')}
        </label>
      </div>
      <p className="hint account">
        {partsAt === undefined ? say('compare.allSame') : say('compare.partsAt', { step: partsAt })}
      </p>
      <div className="pair heads">
        <Side trace={left} label={say('compare.left')} />
        <Side trace={right} label={say('compare.right')} />
      </div>
      {shown.map((turn) => (
        <ComparedStep key={turn.key} turn={turn} />
      ))}
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
  return (
    <section className="compared">
      <h2>
        {say('run.step', { step: turn.step })}{' '}
        {turn.purpose !== 'think' && <span className="quiet">{wordFor('purpose', turn.purpose)} </span>}
        <Chip tone={turn.isSame ? 'quiet' : 'warn'}>{say(turn.isSame ? 'compare.same' : 'compare.differs')}</Chip>
      </h2>
      <div className="pair">
        <ThoughtSide turn={turn.left} />
        <ThoughtSide turn={turn.right} />
      </div>
      {turn.calls.map((pair, at) => (
        <ComparedCall key={at} pair={pair} />
      ))}
    </section>
  );
}

function ThoughtSide({ turn }: { turn: Turn | undefined }) {
  const { say } = useWords();
  const body = bodyOf(turn?.thought, 'thought');
  if (!turn) return <p className="quiet nothing">{say('compare.nothing')}</p>;
  return (
    <div className="card thinking">
      {body ? <ThoughtText text={body.text} /> : <p className="quiet">{say('lost.missing')}</p>}
    </div>
  );
}

function ComparedCall({ pair }: { pair: CallPair }) {
  const { say } = useWords();
  const { left, right, likeness, hasSameResult } = pair;
  const words = {
    same: undefined,
    arguments: say('compare.otherArguments'),
    only_left: say('compare.onlyLeft'),
    only_right: say('compare.onlyRight'),
  }[likeness];
  const hasOtherResult = left !== undefined && right !== undefined && !hasSameResult;
  return (
    <div className="compared-call" data-same={likeness === 'same' && hasSameResult}>
      {(words !== undefined || hasOtherResult) && (
        <p className="marks">
          {words !== undefined && <Chip tone="warn">{words}</Chip>}
          {hasOtherResult && <Chip tone="warn">{say('compare.otherResult')}</Chip>}
        </p>
      )}
      <div className="pair">
        <CallSide call={left} />
        <CallSide call={right} />
      </div>
    </div>
  );
}

function CallSide({ call }: { call: StoryCall | undefined }) {
  const { say } = useWords();
  if (!call) return <p className="quiet nothing">{say('compare.nothing')}</p>;
  const observation = bodyOf(call.observed, 'observed')?.observation;
  return (
    <div className="card operation">
      <p className="tool">
        <code>{visibleText(call.tool ?? say('call.unknownTool'))}</code>
      </p>
      {call.args !== undefined && <Arguments text={call.args} />}
      {observation?.message != null && <p dir="auto">{visibleText(observation.message)}</p>}
      {observation?.data != null && <Value json={observation.data} />}
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
