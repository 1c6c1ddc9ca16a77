/** The cards of a run: thinking, operation, result, and what is missing. */
import { createContext, useContext, useEffect, useState } from 'react';
import { visibleText } from '../../record/format.ts';
import { voidOf, type LostSlot, type StoryCall } from '../../record/story.ts';
import { thoughtParts } from '../../record/thought-parts.ts';
import { bodyOf, type TraceRecord } from '../../record/trace.ts';
import { Chip, toneOfObservation } from '../../ui/chip.tsx';
import { Icon } from '../../ui/icon.tsx';
import { useProblemText } from '../../ui/problem.tsx';
import { Link } from '../../router.tsx';
import { Prose } from '../../ui/prose.tsx';
import { StatusChip } from '../../ui/status-chip.tsx';
import { Arguments, Value } from '../../ui/value.tsx';
import { useWords } from '../../words/words.tsx';
import { Card } from './card.tsx';
import { Orphan } from './other-spans.tsx';
import { ObservedDetails, ThoughtDetails } from './record-details.tsx';
import { ResultMedia, WholeResult } from './result-media.tsx';
import { SubRuns } from './sub-runs.ts';

/** Loads bodies that did not come with the run. */
export const LoadBody = createContext<(record: TraceRecord) => Promise<void>>(async () => {});

/** Whether the reader gets to see thoughts. */
export const SeesThoughts = createContext(true);

export function ThinkingCard({ record }: { record: TraceRecord }) {
  const { wordFor, duration } = useWords();
  const title = wordFor('purpose', record.purpose ?? 'think');
  return (
    <Card kind="thinking" title={title} chip={<Orphan record={record} />} aside={duration(record.durationMs)}>
      <ThoughtBody record={record} />
      {record.body && <ThoughtDetails record={record} />}
    </Card>
  );
}

/** What was thought, or why nothing was. */
export function ThoughtBody({ record }: { record: TraceRecord }) {
  const { say } = useWords();
  const body = bodyOf(record, 'thought');
  useBody(record);
  if (!body) return <p className="quiet">{say('state.loading')}</p>;
  if (body.outcome === 'reply') return <ThoughtText text={body.text} />;
  return (
    <p className="problem" dir="auto">
      {visibleText(body.error?.message ?? say('thought.failed'))}
    </p>
  );
}

/** Thoughts and decisions are small; they are loaded as soon as they are looked at. */
function useBody(record: TraceRecord | undefined): void {
  const load = useContext(LoadBody);
  const isAbsent = record !== undefined && record.body === undefined;
  useEffect(() => {
    if (isAbsent) load(record).catch(() => undefined);
  }, [load, record, isAbsent]);
}

/** Loads what a turn decided when that did not come with the run. */
export function ActedBody({ record }: { record: TraceRecord | undefined }) {
  useBody(record);
  return null;
}

function ThoughtText({ text }: { text: string }) {
  const { say } = useWords();
  const seesThoughts = useContext(SeesThoughts);
  const parts = thoughtParts(text);
  if (text.trim() === '') {
    return <p className="quiet">{say(seesThoughts ? 'thought.noWords' : 'thought.notShown')}</p>;
  }
  if (!parts) return <Prose text={text} />;
  return (
    <dl className="thought">
      {parts.map(({ name, text: said }, at) => (
        <div key={at}>
          <dt>{say(`thought.${name}`)}</dt>
          <dd dir="auto">
            <Prose text={said} />
          </dd>
        </div>
      ))}
    </dl>
  );
}

export function OperationCard({ call }: { call: StoryCall }) {
  const { say, wordFor } = useWords();
  const approval = bodyOf(call.approval, 'approval');
  const voided = voidOf(call);
  const subRun = useContext(SubRuns).get(call.callId ?? '');
  return (
    <Card kind="operation" title={say(isExecuted(call) ? 'card.operation' : 'card.operationAsked')}>
      <p className="tool">
        <code>{visibleText(call.tool ?? say('call.unknownTool'))}</code>
        {subRun && (
          <>
            {' '}
            <StatusChip run={subRun} /> <Link to={`/runs/${encodeURIComponent(subRun.id)}`}>{say('call.subRun')}</Link>
          </>
        )}
      </p>
      {call.args === undefined ? <p className="quiet">{say('call.argumentsLost')}</p> : <Arguments text={call.args} />}
      {approval && (
        <p className="hint" dir="auto">
          {say('call.decided', { by: visibleText(approval.by), decision: wordFor('decision', approval.decision) })}
          {approval.reason !== undefined && ` ${visibleText(approval.reason)}`}
        </p>
      )}
      {voided && <p className="hint">{say(`approval.void_${voided}`)}</p>}
      {approval?.decision === 'edit' && approval.args !== undefined && (
        <>
          <p className="quiet">{say('call.editedTo')}</p>
          <Arguments text={approval.args} />
        </>
      )}
    </Card>
  );
}

/** Whether it was given to its tool, whatever came of it. */
function isExecuted({ state, observed }: StoryCall): boolean {
  return state !== 'waiting' && observed?.status !== 'denied' && observed?.status !== 'duplicate';
}

export function ResultCard({ call }: { call: StoryCall }) {
  const { say, wordFor } = useWords();
  const title = say('card.result');
  if (call.state === 'running') {
    return (
      <Card kind="result" title={title} chip={<Chip tone="live">{say('call.running')}</Chip>}>
        <p className="quiet">{say('call.waitingResult')}</p>
      </Card>
    );
  }
  if (call.state === 'waiting') {
    const isInput = call.admission === 'input';
    return (
      <Card kind="result" tone="warn" title={title} chip={<Chip tone="warn">{wordFor('status', 'waiting')}</Chip>}>
        <p>{say(isInput ? 'call.waitingAnswer' : 'call.waitingPerson')}</p>
        {call.why !== undefined && <p dir="auto">{visibleText(call.why)}</p>}
      </Card>
    );
  }
  if (call.state === 'lost') {
    return (
      <Card kind="result" tone="bad" title={title} chip={<Chip tone="bad">{say('status.lost')}</Chip>}>
        <p>{say('call.lost')}</p>
      </Card>
    );
  }
  if (!call.observed) return <LostCard lost={call.lost ?? { slot: call.slot, state: 'missing' }} title={title} />;
  return <ObservedCard record={call.observed} />;
}

function ObservedCard({ record }: { record: TraceRecord }) {
  const { say, wordFor, duration } = useWords();
  const body = bodyOf(record, 'observed');
  const status = record.status ?? body?.observation.status ?? '';
  const tone = toneOfObservation(status);
  return (
    <Card
      kind="result"
      title={say('card.result')}
      tone={tone === 'bad' || tone === 'warn' ? tone : undefined}
      chip={
        <>
          <Chip tone={tone}>{wordFor('observation', status)}</Chip>
          <Orphan record={record} />
        </>
      }
      aside={duration(record.durationMs)}
    >
      {body ? <Observed record={record} /> : <LargeBody record={record} />}
    </Card>
  );
}

function Observed({ record }: { record: TraceRecord }) {
  const { say } = useWords();
  const body = bodyOf(record, 'observed');
  if (!body) return null;
  const { status, data, message, suggestion, truncated, ref } = body.observation;
  return (
    <>
      {message !== null && (
        <p className={status === 'ok' || status === 'duplicate' ? undefined : 'problem'} dir="auto">
          {visibleText(message)}
        </p>
      )}
      {suggestion !== null && (
        <p className="suggestion" dir="auto">
          <strong>{say('call.try')}</strong> {visibleText(suggestion)}
        </p>
      )}
      {data !== null && <Value json={data} />}
      {data !== null && <ResultMedia data={data} isSeeded={record.isSeeded ?? false} />}
      {data === null && message === null && <p className="quiet">{say('value.nothing')}</p>}
      {truncated && <p className="hint">{say(ref === null ? 'call.truncatedLost' : 'call.truncated')}</p>}
      <WholeResult reference={ref} isSeeded={record.isSeeded ?? false} />
      <ObservedDetails record={record} />
    </>
  );
}

/** A body that is loaded when somebody wants to see it. */
export function LargeBody({ record }: { record: TraceRecord }) {
  const { say } = useWords();
  const load = useContext(LoadBody);
  const problemText = useProblemText();
  const [problem, setProblem] = useState<string>();
  const [isUnderWay, setUnderWay] = useState(false);
  const start = async () => {
    setUnderWay(true);
    try {
      await load(record);
    } catch (error) {
      setProblem(problemText(error));
      setUnderWay(false);
    }
  };
  return (
    <>
      <p className="quiet">{problem ?? say('value.large')}</p>
      <button type="button" className="more" disabled={isUnderWay} onClick={() => void start()}>
        {say(problem === undefined ? 'value.load' : 'state.retry')}
      </button>
    </>
  );
}

/** A record that must have been there, or came and could not be kept. */
export function LostCard({ lost, title }: { lost: LostSlot; title: string }) {
  const { say, wordFor, count } = useWords();
  const sentence =
    lost.state === 'unreadable'
      ? say('lost.unreadableWhy', { reason: wordFor('unreadable', lost.reason), size: count(lost.sizeBytes) })
      : say('lost.missingWhy');
  return (
    <Card kind="lost" title={title} chip={<Chip tone="warn">{say(`lost.${lost.state}`)}</Chip>}>
      <p>{sentence}</p>
      <p className="quiet">
        {say('lost.record')} <code>{lost.slot}</code>
      </p>
    </Card>
  );
}

/** A line between the cards: a signal, a pause, a decision to cancel. */
export function NoteLine({ record }: { record: TraceRecord }) {
  const { time } = useWords();
  const text = useNoteText(record);
  return (
    <p className="note" dir="auto">
      <Icon name="note" />
      <span>{text}</span>
      <span className="quiet">{time(record.at)}</span>
    </p>
  );
}

function useNoteText({ kind, body }: TraceRecord): string {
  const { say, wordFor } = useWords();
  switch (body?.kind) {
    case 'signal':
      return say('note.signal', { by: visibleText(body.by), text: visibleText(body.text ?? body.data ?? '') });
    case 'cancel': {
      const by = visibleText(body.by);
      return body.reason === undefined
        ? say('note.cancel', { by })
        : say('note.cancelWhy', { by, reason: visibleText(body.reason) });
    }
    case 'paused':
      return wordFor('why', body.stopReason);
    case 'resumed':
      return say('note.resumed', { by: visibleText(body.by) });
    default:
      return kind;
  }
}
