/** A run for laypeople: what was asked and answered, how it got there, what was not done, why it stopped. No thoughts. */
import type { ReactNode } from 'react';
import { explain, type Explanation } from '../../record/explanation.ts';
import { visibleText } from '../../record/format.ts';
import type { Story } from '../../record/story.ts';
import { costOfRun, type TracedRun } from '../../record/trace.ts';
import { useFew } from '../../ui/few.tsx';
import { Prose } from '../../ui/prose.tsx';
import { useWords } from '../../words/words.tsx';
import { Told } from './told-call.tsx';

/** `isLost`: nothing has been heard of it for so long that nobody can say whether it still goes on. */
type ExplanationLensProps = { run: TracedRun; story: Story; isLost: boolean };

export function ExplanationLens({ run, story, isLost }: ExplanationLensProps) {
  const { say } = useWords();
  const explanation = explain(story);
  const { messages, notDone, unclear, isIncomplete } = explanation;
  const hasStopped = run.status === 'ended' || run.status === 'paused';
  const isCertain = unclear.length === 0 && !isIncomplete;
  return (
    <article className="explanation">
      <section>
        <h2>{say('explain.question')}</h2>
        <p className="question-text" dir="auto">
          {visibleText(run.question ?? say('list.noQuestion'))}
        </p>
        {messages.map((text, at) => (
          <p key={at} className="question-text" dir="auto">
            {say('explain.added', { text: visibleText(text) })}
          </p>
        ))}
      </section>
      <section>
        <h2>{say(run.status === 'ended' ? 'explain.answer' : 'explain.soFar')}</h2>
        {run.answer ? (
          <Prose text={run.answer} className="prose answer" />
        ) : (
          <p className="quiet">{say(hasStopped ? 'run.noAnswer' : 'explain.noAnswerYet')}</p>
        )}
        {run.partial && run.answer !== null && <p className="hint">{say('run.partial')}</p>}
      </section>
      <HowItGotThere explanation={explanation} hasStopped={hasStopped} isLost={isLost} />
      {(hasStopped || notDone.length > 0) && (
        <CallSection title={say('explain.notDone')} calls={notDone}>
          {notDone.length === 0 && (
            <p className="quiet">{say(isCertain ? 'explain.nothingNotDone' : 'explain.nothingKnownNotDone')}</p>
          )}
        </CallSection>
      )}
      {(!isCertain || isLost) && (
        <CallSection title={say('explain.unclear')} calls={unclear}>
          {isIncomplete && <p>{say('explain.incomplete')}</p>}
          {isLost && <p>{say('explain.lostRun')}</p>}
        </CallSection>
      )}
      <WhyItStopped run={run} explanation={explanation} hasStopped={hasStopped} isLost={isLost} />
    </article>
  );
}

type CallSectionProps = { title: string; calls: Explanation['notDone']; children: ReactNode };

function CallSection({ title, calls, children }: CallSectionProps) {
  const { shown, more } = useFew(calls);
  return (
    <section>
      <h2>{title}</h2>
      {children}
      {shown.map((call) => (
        <Told key={call.slot} call={call} isReasoned />
      ))}
      {more}
    </section>
  );
}

type HowProps = { explanation: Explanation; hasStopped: boolean; isLost: boolean };

function HowItGotThere({ explanation: { steps, isIncomplete }, hasStopped, isLost }: HowProps) {
  const { say } = useWords();
  const { shown, more } = useFew(steps);
  const nothing = isIncomplete || isLost ? 'explain.nothingKnown' : hasStopped ? 'explain.noDeeds' : 'explain.running';
  return (
    <section>
      <h2>{say('explain.how')}</h2>
      {steps.length === 0 && <p className="quiet">{say(nothing)}</p>}
      <ol className="told">
        {shown.map(({ m, calls }) => (
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
      {more}
    </section>
  );
}

type WhyProps = { run: TracedRun; explanation: Explanation; hasStopped: boolean; isLost: boolean };

function WhyItStopped({ run, explanation, hasStopped, isLost }: WhyProps) {
  const { say, wordFor, cost, duration } = useWords();
  const { stopReason } = run;
  const reason = stopReason === 'cancelled' ? explanation.cancelReason : undefined;
  const spent = costOfRun(run);
  const still = isLost ? 'explain.lostRun' : 'explain.running';
  return (
    <section>
      <h2>{say(hasStopped ? 'explain.why' : 'explain.standing')}</h2>
      <p>
        {stopReason === null ? say(still) : wordFor('why', stopReason)}{' '}
        <Allowed run={run} allowed={explanation.allowed} />
      </p>
      {reason !== undefined && <p dir="auto">{say('explain.reason', { reason: visibleText(reason) })}</p>}
      {run.status === 'paused' && <p>{say('explain.canGoOn')}</p>}
      <p className="quiet">
        {spent
          ? say('explain.took', { duration: duration(run.durationMs), cost: cost(spent) })
          : say('explain.tookTime', { duration: duration(run.durationMs) })}
      </p>
    </section>
  );
}

/** How much of what ran out it was allowed. */
function Allowed({ run: { stopReason }, allowed }: { run: TracedRun; allowed: Explanation['allowed'] }) {
  const { say, count, cost, duration } = useWords();
  const { max_steps: steps, max_tool_calls: calls, max_spend: spend, deadline } = allowed;
  if (stopReason === 'max_steps' && steps !== undefined)
    return say('allowed.steps', { count: steps, shown: count(steps) });
  if (stopReason === 'max_tool_calls' && calls !== undefined)
    return say('allowed.calls', { count: calls, shown: count(calls) });
  if (stopReason === 'max_spend' && spend !== undefined) return say('allowed.spend', { cost: cost({ amount: spend }) });
  if (stopReason === 'deadline' && deadline !== undefined) return say('allowed.time', { duration: duration(deadline) });
  return null;
}
