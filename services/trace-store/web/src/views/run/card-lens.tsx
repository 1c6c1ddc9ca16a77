/** A run as cards, step by step. Long runs draw only the steps that are looked at. */
import { useWindowVirtualizer } from '@tanstack/react-virtual';
import { memo, useLayoutEffect, useRef, useState, type ReactNode } from 'react';
import type { Story, StoryCall, Turn } from '../../record/story.ts';
import { bodyOf, type TracedRun } from '../../record/trace.ts';
import { Chip } from '../../ui/chip.tsx';
import { Prose } from '../../ui/prose.tsx';
import { useWords } from '../../words/words.tsx';
import { ActedBody, LostCard, NoteLine, OperationCard, ResultCard, ThinkingCard } from './cards.tsx';
import { Card } from './card.tsx';
import { ConclusionCard } from './conclusion-card.tsx';
import { ForkButton } from './fork-button.tsx';
import { useOpenDetails } from './open-details.tsx';
import { OtherSpans } from './other-spans.tsx';

/** Up to so many turns all stand in the document, so that the browser's own search finds them. */
const drawnWholeMax = 60;
const turnHeightGuess = 620;

type CardLensProps = { run: TracedRun; story: Story; speaking: string; isLive: boolean; at: number | undefined };

export function CardLens({ run, story, speaking, isLive, at }: CardLensProps) {
  const { say } = useWords();
  const { areAllOpen, setAll } = useOpenDetails();
  const turns = run.status === 'ended' ? withoutAnswer(story, run) : story.turns;
  // Runs of other agents are only told here.
  const canFork = run.source === 'pawl' && (run.status === 'ended' || run.status === 'paused');
  const last = turns.length < story.turns.length ? story.turns.at(-1)?.thought : undefined;
  return (
    <>
      <div className="lens-tools">
        <button type="button" className="link" onClick={() => setAll(!areAllOpen)}>
          {say(areAllOpen ? 'card.collapseAll' : 'card.expandAll')}
        </button>
      </div>
      <OtherSpans spans={story.spans} />
      {story.notes.map((record) => (
        <NoteLine key={record.slot} record={record} />
      ))}
      <StepList turns={turns} at={at}>
        {(turn, place) => <TurnView turn={turn} isNewStep={turn.step !== turns[place - 1]?.step} canFork={canFork} />}
      </StepList>
      {speaking !== '' && (
        <div className="speaking">
          <Card kind="thinking" title={say('purpose.think')} chip={<Chip tone="live">{say('thought.speaking')}</Chip>}>
            <div aria-live="off">
              <Prose text={speaking} />
            </div>
          </Card>
        </div>
      )}
      {isLive && (
        <p className="live" role="status">
          <span className="pulse" aria-hidden="true" />
          {say('run.live')}
        </p>
      )}
      {run.stopReason !== null && (run.status === 'ended' || run.status === 'paused') && (
        <div className="run-end" id="end">
          <ConclusionCard run={run} last={last} />
        </div>
      )}
    </>
  );
}

/** The last thought is the answer itself; the conclusion shows it. */
function withoutAnswer({ turns }: Story, run: TracedRun): Turn[] {
  const last = turns.at(-1);
  const said = bodyOf(last?.thought, 'thought');
  const isAnswer =
    last && last.calls.length === 0 && last.lost.length === 0 && last.notes.length === 0 && said?.text === run.answer;
  return isAnswer ? turns.slice(0, -1) : turns;
}

type StepListProps = { turns: Turn[]; at: number | undefined; children: (turn: Turn, place: number) => ReactNode };

function StepList(props: StepListProps) {
  return props.turns.length > drawnWholeMax ? <VirtualSteps {...props} /> : <AllSteps {...props} />;
}

function AllSteps({ turns, at, children }: StepListProps) {
  const { say } = useWords();
  const list = useRef<HTMLOListElement>(null);
  useLayoutEffect(() => {
    if (at !== undefined) list.current?.querySelector(`[data-m="${at}"]`)?.scrollIntoView();
  }, [at]);
  return (
    <ol className="steps" ref={list} aria-label={say('run.steps')}>
      {turns.map((turn, place) => (
        <li key={turn.m} className="step" data-m={turn.m}>
          {children(turn, place)}
        </li>
      ))}
    </ol>
  );
}

function VirtualSteps({ turns, at, children }: StepListProps) {
  const { say } = useWords();
  const list = useRef<HTMLOListElement>(null);
  const [margin, setMargin] = useState(0);
  useLayoutEffect(() => setMargin(list.current?.offsetTop ?? 0), []);
  const virtual = useWindowVirtualizer({
    count: turns.length,
    estimateSize: () => turnHeightGuess,
    overscan: 3,
    scrollMargin: margin,
    getItemKey: (place) => turns[place]?.m ?? place,
  });
  useLayoutEffect(() => {
    const place = turns.findIndex(({ m }) => m === at);
    if (place >= 0) virtual.scrollToIndex(place, { align: 'start' });
    // Only when another turn is asked for; the list itself grows while a run goes on.
  }, [at, margin]);
  return (
    <ol className="steps virtual" ref={list} aria-label={say('run.steps')} style={{ height: virtual.getTotalSize() }}>
      {virtual.getVirtualItems().map((item) => {
        const turn = turns[item.index];
        if (!turn) return null;
        return (
          <li
            key={item.key}
            ref={virtual.measureElement}
            className="step"
            data-index={item.index}
            data-m={turn.m}
            aria-setsize={turns.length}
            aria-posinset={item.index + 1}
            style={{ transform: `translateY(${item.start - margin}px)` }}
          >
            {children(turn, item.index)}
          </li>
        );
      })}
    </ol>
  );
}

type TurnViewProps = { turn: Turn; isNewStep: boolean; canFork: boolean };

/** Remembered: while a list is scrolled, turns that stay are not drawn again. */
const TurnView = memo(({ turn, isNewStep, canFork }: TurnViewProps) => {
  const { say, wordFor } = useWords();
  return (
    <>
      {isNewStep && <TurnHead turn={turn} canFork={canFork && !turn.isSeeded} />}
      <ActedBody record={turn.acted} />
      {turn.thought && <ThinkingCard record={turn.thought} />}
      {turn.lost.map((lost) => (
        <LostCard
          key={lost.slot}
          lost={lost}
          title={lost.slot.startsWith('thought') ? wordFor('purpose', 'think') : say('card.operation')}
        />
      ))}
      {turn.calls.length > 0 && <Calls calls={turn.calls} />}
      {turn.notes.map((record) => (
        <NoteLine key={record.slot} record={record} />
      ))}
    </>
  );
});

function Calls({ calls }: { calls: StoryCall[] }) {
  return (
    <div className="calls" data-count={Math.min(calls.length, 3)}>
      {calls.map((call) => (
        <div key={call.i} className="call">
          <OperationCard call={call} />
          <ResultCard call={call} />
        </div>
      ))}
    </div>
  );
}

function TurnHead({ turn, canFork }: { turn: Turn; canFork: boolean }) {
  const { say, duration } = useWords();
  const toolsMs = Math.max(0, ...turn.calls.map(({ observed }) => observed?.durationMs ?? 0));
  const parts = [
    turn.isSeeded ? say('run.seeded') : '',
    turn.thought?.durationMs == null ? '' : say('run.model', { time: duration(turn.thought.durationMs) }),
    turn.calls.some(({ observed }) => observed) ? say('run.tools', { time: duration(toolsMs) }) : '',
    turn.calls.length > 1 ? say('run.atOnce', { count: turn.calls.length }) : '',
  ].filter((part) => part !== '');
  return (
    <h2>
      {turn.step === null || turn.step === 0 ? say('run.prelude') : say('run.step', { step: turn.step })}
      <span className="quiet">{parts.join(' · ')}</span>
      {canFork && turn.step !== null && turn.step > 0 && <ForkButton step={turn.step} />}
    </h2>
  );
}
