/** The details behind a card: every figure of its record, and on demand the whole record as it was written. */
import { createContext, useContext, useState, type ReactNode } from 'react';
import { bodyPath, fetchBodyText } from '../../api/traces.ts';
import { parseExact, printExact } from '../../record/exact-json.ts';
import { costOfNano } from '../../record/format.ts';
import { bodyOf, type TraceRecord } from '../../record/trace.ts';
import { LongText } from '../../ui/long-text.tsx';
import { useProblemText } from '../../ui/problem.tsx';
import { useWords } from '../../words/words.tsx';
import { useOpenDetails } from './open-details.tsx';

/** The run that is shown. */
export const RunId = createContext('');

type Pair = [name: string, value: string | null | undefined];

export function RecordDetails({ record, pairs }: { record: TraceRecord; pairs: Pair[] }) {
  const { say, time } = useWords();
  const { isOpen, setOpen } = useOpenDetails();
  const open = isOpen(record.slot);
  const shared: Pair[] = [
    [say('detail.started'), time(record.startedAt ?? record.at)],
    [say('detail.span'), record.spanId],
    [say('detail.parentSpan'), record.isOrphan ? record.parentSpanId : undefined],
    [say('detail.marks'), record.marks?.join(', ')],
    [say('detail.record'), record.slot],
  ];
  return (
    <details open={open} onToggle={(event) => setOpen(record.slot, event.currentTarget.open)}>
      <summary>{say('card.details')}</summary>
      {open && (
        <>
          <DetailPairs pairs={[...pairs, ...shared]} />
          <WholeRecord record={record} />
        </>
      )}
    </details>
  );
}

function DetailPairs({ pairs }: { pairs: Pair[] }) {
  return (
    <dl className="pairs">
      {pairs.map(([name, value]) =>
        value === null || value === undefined || value === '' ? null : (
          <div key={name} className={value.length > 200 ? 'wide' : undefined}>
            <dt>{name}</dt>
            <dd dir="auto">
              <LongText text={value} as={value.length > 200 ? 'pre' : 'p'} />
            </dd>
          </div>
        ),
      )}
    </dl>
  );
}

function WholeRecord({ record }: { record: TraceRecord }): ReactNode {
  const runId = useContext(RunId);
  const { say } = useWords();
  const problemText = useProblemText();
  const [text, setText] = useState<string>();
  if (text !== undefined) return <LongText text={text} />;
  const load = async () => {
    try {
      const json = await fetchBodyText(bodyPath(runId, record.slot));
      const value = parseExact(json);
      setText(value === undefined ? json : printExact(value));
    } catch (error) {
      setText(problemText(error));
    }
  };
  return (
    <button type="button" className="more" onClick={() => void load()}>
      {say('detail.showRecord')}
    </button>
  );
}

export function ThoughtDetails({ record }: { record: TraceRecord }) {
  const { say, count, cost, duration } = useWords();
  const body = bodyOf(record, 'thought');
  const { route, usage } = body ?? {};
  const price = record.costNanoUsd === undefined ? undefined : cost(costOfNano(record.costNanoUsd));
  const { tokens } = record;
  const pairs: Pair[] = [
    [say('detail.model'), route && `${route.model} (${[route.provider, route.region].filter(Boolean).join(', ')})`],
    [say('detail.route'), route?.routeReason],
    [
      say('detail.tokens'),
      tokens && say('detail.tokensInOut', { input: count(tokens.input), output: count(tokens.output) }),
    ],
    [say('detail.cached'), usage?.cachedInputTokens ? count(usage.cachedInputTokens) : undefined],
    [say('detail.reasoning'), usage?.reasoningTokens ? count(usage.reasoningTokens) : undefined],
    [say('detail.cost'), price && body?.costBasis === 'estimated' ? say('detail.estimated', { cost: price }) : price],
    [say('detail.firstToken'), body?.firstTokenMs === undefined ? undefined : duration(body.firstTokenMs)],
    [say('detail.finish'), body?.finishReason],
    [say('detail.errorCode'), body?.error?.code],
  ];
  return <RecordDetails record={record} pairs={pairs} />;
}

export function ObservedDetails({ record }: { record: TraceRecord }) {
  const { say, cost } = useWords();
  const body = bodyOf(record, 'observed');
  const trust = body && say(body.trust === 'untrusted' ? 'detail.untrusted' : 'detail.trusted');
  const pairs: Pair[] = [
    [say('detail.trust'), trust],
    [say('detail.errorCode'), body?.observation.errorCode],
    [say('detail.rawError'), body?.rawError],
    [say('detail.attempt'), body && body.attempt > 1 ? String(body.attempt) : undefined],
    [say('detail.whole'), body?.observation.ref],
    [say('detail.cost'), body?.spent && cost(costOfNano(body.spent.costNanoUsd))],
  ];
  return <RecordDetails record={record} pairs={pairs} />;
}
