/** One run, from the question to the conclusion. Follows it while it runs. */
import { ApiError, fetchTrace } from './api.js';
import { chip, conclusionCard, lostCard, noteLine, operationCard, resultCard, thinkingCard, totals } from './cards.js';
import { append, element } from './element.js';
import { formatTime, visibleText } from './format.js';
import { storyOf } from './story.js';
import { runStatusWords, stopReasonWords, wordsOf } from './words.js';

const pollMs = 1_000;
const pollMaxMs = 10_000;

/** Shows the run in `main` and keeps it up to date until it has ended. Throws what the first request threw. */
export async function showRun(main, runId) {
  const view = createView(main);
  let version;
  const update = async () => {
    const fresh = await fetchTrace(runId, version);
    if (!fresh) return true;
    version = fresh.version;
    view.update(fresh.trace);
    return fresh.trace.run.status !== 'ended';
  };
  if (await update()) await follow(update, view);
}

/** Asks again while the run goes on; more rarely after failures, not at all while nobody looks. */
async function follow(update, view) {
  let waitMs = pollMs;
  for (let isRunning = true; isRunning;) {
    await new Promise((resolve) => setTimeout(resolve, waitMs));
    if (document.hidden) continue;
    try {
      isRunning = await update();
      waitMs = pollMs;
      view.setTrouble(undefined);
    } catch (error) {
      if (error instanceof ApiError && error.status >= 400 && error.status < 500) throw error;
      waitMs = Math.min(waitMs * 2, pollMaxMs);
      view.setTrouble(error.message);
    }
  }
}

function createView(main) {
  const head = element('div.run-head');
  const trouble = element('p.problem', { role: 'status', hidden: true });
  const steps = element('ol.steps', { 'aria-label': 'What the agent did, in order' });
  const end = element('div.run-end', { id: 'conclusion' });
  const announcer = element('p.visually-hidden', { role: 'status' });
  const shown = new Map();
  main.replaceChildren(head, trouble, steps, end, announcer);
  return {
    update(trace) {
      const story = storyOf(trace);
      document.title = `${excerpt(trace.run.question ?? 'Run', 60)} · Pawl`;
      head.replaceChildren();
      append(head, headOf(trace, story));
      replaceChanged(steps, { story, trace, shown });
      end.replaceChildren(endOf(trace.run, story));
      announcer.textContent = announcement(trace.run, story);
    },
    setTrouble(message) {
      trouble.hidden = message === undefined;
      trouble.textContent = message === undefined ? '' : `${message} Trying again…`;
    },
  };
}

/** Puts in the turns that are new or have changed and leaves the others alone, with what the reader opened in them. */
function replaceChanged(list, { story, trace, shown }) {
  const turns = story.turns.filter((turn) => !isAnswer(turn, trace.run));
  for (const [at, turn] of turns.entries()) {
    const signature = JSON.stringify([
      turn.thought?.slot,
      turn.acted?.slot,
      turn.calls.map(({ state }) => state),
      turn.records.length,
      turn.notes.length,
      turn.lost,
    ]);
    if (shown.get(turn.m)?.signature === signature && list.children[at] === shown.get(turn.m).node) continue;
    const node = turnItem(turn);
    if (list.children[at]) replaceKeepingOpen(list.children[at], node);
    else list.append(node);
    shown.set(turn.m, { signature, node });
  }
  while (list.children.length > turns.length) list.lastChild.remove();
}

/** Replaces a turn by its newer self; what the reader opened stays open, and the focus stays where it was. */
function replaceKeepingOpen(old, node) {
  const focused = old.contains(document.activeElement)
    ? document.activeElement.closest('details')?.dataset.slot
    : undefined;
  const opened = new Set([...old.querySelectorAll('details[open]')].map(({ dataset }) => dataset.slot));
  old.replaceWith(node);
  for (const details of node.querySelectorAll('details')) {
    details.open = opened.has(details.dataset.slot);
    if (details.dataset.slot === focused) details.querySelector('summary').focus();
  }
}

/** The last thought of a run that answered is the conclusion itself. */
function isAnswer(turn, run) {
  return (
    run.status === 'ended' &&
    turn.calls.length === 0 &&
    turn.notes.length === 0 &&
    turn.thought?.body?.text === run.answer &&
    run.answer !== null
  );
}

function headOf({ run, missing, unreadable }, story) {
  const lost = missing.length + unreadable.length;
  return [
    element('p.crumb', {}, element('a', { href: '/runs' }, '← All runs')),
    element('h1', { dir: 'auto' }, visibleText(run.question ?? 'The question of this run is missing')),
    element(
      'p.meta',
      {},
      statusChip(run),
      element('span', {}, run.agent ?? 'unknown agent'),
      run.user ? element('span', { dir: 'auto' }, `for ${visibleText(run.user)}`) : null,
      run.startedAt ? element('time', { datetime: run.startedAt }, formatTime(run.startedAt)) : null,
    ),
    run.status === 'ended' ? shortAnswer(run) : totals(run),
    lost > 0
      ? element(
          'p.hint',
          { role: 'note' },
          `${lost === 1 ? 'One record of this run is' : `${lost} records of this run are`} missing or not readable; ${lost === 1 ? 'its place is' : 'their places are'} marked below.`,
        )
      : null,
    ...story.notes.map(noteLine),
  ];
}

function shortAnswer(run) {
  const words = wordsOf(stopReasonWords, run.stopReason);
  const first = (run.answer ?? '').split('\n').find((line) => line.trim() !== '');
  return element(
    'div.short-answer',
    {},
    element(
      'p',
      { dir: 'auto' },
      first ? excerpt(first.replaceAll('**', '').replace(/^#+\s*/, ''), 280) : words.sentence,
    ),
    element('a', { href: '#conclusion' }, 'Go to the conclusion ↓'),
  );
}

function excerpt(text, charsMax) {
  const chars = [...visibleText(text)];
  return chars.length <= charsMax ? chars.join('') : `${chars.slice(0, charsMax).join('')}…`;
}

export function statusChip(run) {
  if (run.status === 'ended' && run.stopReason) {
    const { label, tone } = wordsOf(stopReasonWords, run.stopReason);
    return chip(label, tone);
  }
  const { label, tone } = wordsOf(runStatusWords, run.status);
  return chip(label, tone);
}

function turnItem(turn) {
  const title =
    turn.thought?.purpose === 'conclude' ? 'Closing' : turn.step ? `Step ${turn.step}` : `Turn ${turn.m + 1}`;
  const parallel =
    turn.calls.length > 1 ? element('span.quiet', {}, `${turn.calls.length} operations at the same time`) : null;
  const lostThought = turn.lost.find(({ slot }) => slot.startsWith('thought'));
  const lostDecision = turn.lost.find(({ slot }) => slot.startsWith('acted'));
  return element(
    'li.step',
    {},
    element('h2', {}, title, parallel),
    turn.thought ? thinkingCard(turn.thought) : lostThought ? lostCard(lostThought, 'Agent Thinking') : null,
    lostDecision ? lostCard(lostDecision, 'Operation Executed') : null,
    turn.calls.length === 0
      ? null
      : element(
          'div.calls',
          { 'data-count': Math.min(turn.calls.length, 3) },
          turn.calls.map((call) => element('div.call', {}, operationCard(call), resultCard(call))),
        ),
    turn.notes.map(noteLine),
  );
}

function endOf(run, story) {
  if (run.status === 'ended') return conclusionCard(run, story.turns.find((turn) => isAnswer(turn, run))?.thought);
  const waits = run.status === 'running' ? liveSentence(story) : wordsOf(stopReasonWords, run.stopReason).sentence;
  return element('p.live', {}, element('span.pulse', { 'aria-hidden': 'true' }), waits);
}

function liveSentence(story) {
  const last = story.turns.at(-1);
  const running = last?.calls.filter(({ state }) => state === 'running').length ?? 0;
  if (running > 0) return running === 1 ? 'An operation is under way…' : `${running} operations are under way…`;
  return 'The agent is thinking…';
}

function announcement(run, story) {
  return run.status === 'ended'
    ? `The run has ended: ${wordsOf(stopReasonWords, run.stopReason).sentence}`
    : `${story.turns.length} turns so far. ${liveSentence(story)}`;
}
