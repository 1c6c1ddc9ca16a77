/** What is told of spans of other agents beside thoughts and calls. */
import { visibleText } from '../../record/format.ts';
import { spanNameOf, type TraceRecord } from '../../record/trace.ts';
import { Chip } from '../../ui/chip.tsx';
import { useWords } from '../../words/words.tsx';

/** Says of a span of another agent that its parent has not come. */
export function Orphan({ record }: { record: TraceRecord }) {
  const { say } = useWords();
  return record.isOrphan ? <Chip tone="warn">{say('span.orphan')}</Chip> : null;
}

/** Spans of another agent that are neither thoughts nor calls, or report one once more. */
export function OtherSpans({ spans }: { spans: readonly TraceRecord[] }) {
  const { say, count, duration } = useWords();
  if (spans.length === 0) return null;
  return (
    <details className="other-spans">
      <summary>{say('span.others', { count: spans.length, shown: count(spans.length) })}</summary>
      <ul className="plain">
        {spans.map((record) => (
          <li key={record.slot}>
            <span dir="auto">{visibleText(spanNameOf(record))}</span>{' '}
            <span className="quiet">{duration(record.durationMs)}</span> <Orphan record={record} />
            {record.isRepeat && <Chip tone="quiet">{say('span.repeat')}</Chip>}
          </li>
        ))}
      </ul>
    </details>
  );
}
