/** A run for laypeople: what was asked and answered, how it got there, what was not done, why it stopped. No thoughts. */
import { explain, type Explanation, type Outcome, type ToldCall } from '../../record/explanation.ts';
import { readableName, visibleText } from '../../record/format.ts';
import type { Story } from '../../record/story.ts';
import type { TracedRun } from '../../record/trace.ts';
import { Icon, type IconName } from '../../ui/icon.tsx';
import { Prose } from '../../ui/prose.tsx';
import { useWords, type Words } from '../../words/words.tsx';

export function ExplanationLens({ run, story }: { run: TracedRun; story: Story }) {
  const words = useWords();
  const { say, wordFor, cost, duration, count } = words;
  const { steps, notDone } = explain(story);
  const isOver = run.status === 'ended';
  const lookups = steps.reduce((sum, { calls }) => sum + calls.length, 0);
  return (
    <article className="explanation">
      <section>
        <h2>{say('explain.question')}</h2>
        <p className="question-text" dir="auto">
          {visibleText(run.question ?? say('list.noQuestion'))}
        </p>
      </section>
      <section>
        <h2>{say(isOver ? 'explain.answer' : 'explain.soFar')}</h2>
        {run.answer ? (
          <Prose text={run.answer} className="prose answer" />
        ) : (
          <p className="quiet">{say(isOver ? 'run.noAnswer' : 'explain.noAnswerYet')}</p>
        )}
        {run.partial && run.answer !== null && <p className="hint">{say('run.partial')}</p>}
      </section>
      <HowItGotThere steps={steps} isOver={isOver} />
      {isOver && (
        <section>
          <h2>{say('explain.notDone')}</h2>
          {notDone.length === 0 ? (
            <p className="quiet">{say('explain.nothingNotDone')}</p>
          ) : (
            notDone.map((call) => <Told key={call.slot} call={call} isReasoned />)
          )}
        </section>
      )}
      <section>
        <h2>{say(isOver ? 'explain.why' : 'explain.standing')}</h2>
        <p dir="auto">
          {run.stopReason === null ? say('explain.running') : wordFor('why', run.stopReason)}
          {run.stopReason !== null && run.stopReason !== 'final_answer' && run.detail
            ? ` ${visibleText(run.detail)}`
            : ''}
        </p>
        <p className="quiet">
          {say('explain.took', { duration: duration(run.durationMs), cost: cost(run.cost), lookups: count(lookups) })}
        </p>
      </section>
    </article>
  );
}

function HowItGotThere({ steps, isOver }: { steps: Explanation['steps']; isOver: boolean }) {
  const { say } = useWords();
  return (
    <section>
      <h2>{say('explain.how')}</h2>
      {steps.length === 0 && <p className="quiet">{say(isOver ? 'explain.noLookups' : 'explain.running')}</p>}
      <ol className="told">
        {steps.map(({ m, calls }) => (
          <li key={m}>
            <div>
              {calls.length > 1 && <p className="quiet">{say('explain.same', { count: calls.length })}</p>}
              {calls.map((call) => (
                <Told key={call.slot} call={call} />
              ))}
            </div>
          </li>
        ))}
      </ol>
    </section>
  );
}

function Told({ call, isReasoned = false }: { call: ToldCall; isReasoned?: boolean }) {
  const words = useWords();
  const { say, wordFor } = words;
  const { outcome, decision } = call;
  const reason = outcome.kind === 'not_done' ? outcome.message : null;
  return (
    <div className="told-call" data-outcome={outcome.kind}>
      <Icon name={iconOf(outcome)} />
      <div>
        <p dir="auto">
          {say('explain.used')}{' '}
          <strong>{call.tool === undefined ? say('call.unknownTool') : readableName(call.tool)}</strong>
          {call.args.length > 0 && <Given args={call.args} />}
          {': '}
          {outcomeText(outcome, words)}
        </p>
        {decision && (
          <p className="quiet" dir="auto">
            {say('call.decided', { by: visibleText(decision.by), decision: wordFor('decision', decision.kind) })}
            {decision.reason !== undefined && ` ${visibleText(decision.reason)}`}
          </p>
        )}
        {isReasoned && reason !== null && (
          <p className="quiet" dir="auto">
            {visibleText(reason)}
          </p>
        )}
      </div>
    </div>
  );
}

function Given({ args }: { args: ToldCall['args'] }) {
  const { say } = useWords();
  return (
    <span className="quiet">
      {' '}
      {say('explain.with')} {args.map(({ name, value }) => `${readableName(name)} ${visibleText(value)}`).join(', ')}
    </span>
  );
}

function iconOf({ kind }: Outcome): IconName {
  if (kind === 'lost') return 'missing';
  if (kind === 'not_done') return 'stopped';
  if (kind === 'running') return 'operation';
  return kind === 'waiting' ? 'person' : 'done';
}

function outcomeText(outcome: Outcome, { say, count, digits }: Words): string {
  switch (outcome.kind) {
    case 'rows':
      if (outcome.count === 0) return say('explain.noRows');
      return say('explain.rows', { count: outcome.count, shown: count(outcome.count) });
    case 'value':
      return say('explain.value', { value: visibleText(digits(outcome.text)) });
    case 'result':
    case 'large':
      return say('explain.result');
    case 'running':
      return say('explain.stillRunning');
    case 'waiting':
      return say('explain.waiting');
    case 'lost':
      return say('explain.lost');
    case 'not_done':
      return say(`explain.${outcome.status}`);
  }
}
