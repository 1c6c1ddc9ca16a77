/** The end of a run: its answer, why it ended, and what it took. */
import { visibleText } from '../../record/format.ts';
import { costOfRun, type TraceRecord, type TracedRun } from '../../record/trace.ts';
import { Chip, toneOfStop } from '../../ui/chip.tsx';
import { CopyButton } from '../../ui/copy-button.tsx';
import { Prose } from '../../ui/prose.tsx';
import { useWords } from '../../words/words.tsx';
import { Card } from './card.tsx';
import { ThoughtDetails } from './record-details.tsx';

export function ConclusionCard({ run, last }: { run: TracedRun; last: TraceRecord | undefined }) {
  const { say, wordFor } = useWords();
  const reason = run.stopReason ?? '';
  return (
    <Card kind="conclusion" title={say('card.conclusion')}>
      {run.answer === null || run.answer.trim() === '' ? (
        <p className="quiet">{say('run.noAnswer')}</p>
      ) : (
        <Prose text={run.answer} className="prose answer" />
      )}
      {run.partial && run.answer !== null && <p className="hint">{say('run.partial')}</p>}
      <p className="reason" dir="auto">
        <Chip tone={toneOfStop(reason)}>{wordFor('stop', reason)}</Chip> {wordFor('why', reason)}
        {reason !== 'final_answer' && run.detail ? ` ${visibleText(run.detail)}` : ''}
      </p>
      <Totals run={run} />
      {run.traceId !== null && (
        <p className="trace-id">
          <span>{say('run.traceId')}</span> <code>{run.traceId}</code>
          <CopyButton text={run.traceId} />
        </p>
      )}
      {last && <ThoughtDetails record={last} />}
    </Card>
  );
}

/** What a run took, as figures. */
export function Totals({ run }: { run: TracedRun }) {
  const { say, count, cost, duration } = useWords();
  const figures = [
    [say('col.steps'), count(run.steps)],
    [say('col.toolCalls'), count(run.toolCalls)],
    [say('col.tokens'), count(run.tokens)],
    [say('col.cost'), cost(costOfRun(run))],
    [say('col.duration'), duration(run.durationMs)],
  ];
  return (
    <dl className="totals">
      {figures.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
