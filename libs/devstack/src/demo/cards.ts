/**
 * How a run's facts look on a terminal: the four cards Agent Thinking, Operation Executed, Result Obtained and Analysis
 * Conclusion. Pure. Nothing that a tool or a model wrote reaches the terminal as a control sequence.
 */
import { formatNano } from '@pawl/contracts';
import type { Acted, Ended, Fact, Observed, Paused, Purpose, RunView, Thought } from '@pawl/contracts';
import type { Terminal } from '../commands/terminal.ts';
import { renderRows } from './table.ts';
import { wrap } from './wrap.ts';

type Style = Pick<Terminal, 'colors' | 'width'>;

const INDENT = '  ';
const BODY_LINES_MAX = 12;

/** What a thought is for, where it is not simply the next one. */
const PURPOSE_WORDS: Record<Purpose, string> = {
  think: '',
  plan: 'makes a plan',
  reflect: 'looks back at what it has found so far',
  summarize: 'sums up the steps so far',
  conclude: 'answers with what it has',
};

/** The card of a fact, or undefined when the fact has none. */
export function renderCard(fact: Fact, style: Style): string | undefined {
  switch (fact.kind) {
    case 'thought':
      return thinkingCard(fact, style);
    case 'acted':
      return operationCard(fact, style);
    case 'observed':
      return resultCard(fact, style);
    case 'ended':
      return conclusionCard(fact, style);
    case 'paused':
      return pausedCard(fact, style);
    case 'cancel':
      return card(style, style.colors.yellow('Run Cancelled'), fact.reason ? [fact.reason] : []);
    case 'signal':
      return card(style, style.colors.yellow('Message Received'), [fact.text ?? fact.data ?? '']);
    case 'approval':
      return card(style, style.colors.yellow('Approval Decided'), [`${fact.decision} by ${fact.by}`]);
    case 'started':
    case 'resumed':
      return undefined;
  }
}

/** What the run took, in one line, and where to find it. `isLast`: nothing is there any more that could be asked about it. */
export function renderSummary(
  run: RunView,
  { durationMs, isLast = false }: { durationMs: number | undefined; isLast?: boolean },
  { colors }: Style,
): string {
  const seconds = durationMs === undefined ? '' : `, ${(durationMs / 1000).toFixed(1)} s`;
  const tokens = run.tokens.toLocaleString('en-US');
  const next = run.status === 'ended' || isLast ? [] : [`${INDENT}next   npx pawl get ${run.id}`];
  return [
    ...next,
    `${INDENT}cost   ${colors.bold(`${run.cost.amount} ${run.cost.currency}`)} for ${run.steps} steps, ${run.toolCalls} tool calls, ${tokens} tokens${seconds}`,
    `${INDENT}trace  ${run.traceId}`,
  ].join('\n');
}

function thinkingCard(thought: Thought, style: Style): string | undefined {
  const title = style.colors.cyan('Agent Thinking');
  const purpose = PURPOSE_WORDS[thought.purpose];
  const note = style.colors.dim(`${purpose && ` · ${purpose}`}${costOf(thought)}`);
  if (thought.outcome === 'failed') {
    return card(style, `${title}${note}`, [`No answer from the model: ${thought.error?.message ?? 'no reason given'}`]);
  }
  // Without calls it is the answer itself, which the conclusion shows.
  if (thought.calls.length === 0 && (thought.purpose === 'think' || thought.purpose === 'conclude')) return undefined;
  return thought.text.trim() === '' ? undefined : card(style, `${title}${note}`, [thought.text]);
}

function operationCard(acted: Acted, style: Style): string {
  const note = acted.calls.length > 1 ? style.colors.dim(` · ${acted.calls.length} at once`) : '';
  return card(style, `${style.colors.magenta('Operation Executed')}${note}`, acted.calls.map(describeCall));
}

function describeCall({ tool, args, admission, why }: Acted['calls'][number]): string {
  const waits = { approval: ` · waits for approval: ${why ?? ''}`, input: ' · waits for an answer' };
  return `${tool} ${args}${admission === 'approval' || admission === 'input' ? waits[admission] : ''}`;
}

function resultCard({ observation, tool, durationMs }: Observed, style: Style): string {
  const isGood = observation.status === 'ok';
  const color = isGood ? style.colors.green : style.colors.red;
  const status = isGood ? '' : ` · ${observation.status}`;
  const note = style.colors.dim(` · ${tool}${status} · ${Math.round(durationMs)} ms`);
  const data = observation.data === null ? null : showData(observation.data, style.width - INDENT.length);
  const said = [observation.message, data, observation.suggestion].filter((text) => text !== null);
  return card(style, `${color('Result Obtained')}${note}`, said);
}

function conclusionCard(ended: Ended, style: Style): string {
  const isWhole = ended.stopReason === 'final_answer';
  const note = isWhole ? '' : style.colors.yellow(` · ${ended.stopReason}`);
  const why = isWhole ? [] : [ended.detail];
  const title = style.colors.bold(style.colors.yellow('Analysis Conclusion'));
  return card({ ...style, isLong: true }, `${title}${note}`, [...why, ended.answer ?? 'There is no answer.']);
}

/** With the closing answer, which no other card shows; why a model did not answer stands in its thought. */
function pausedCard({ stopReason, detail, answer }: Paused, style: Style): string {
  const title = `${style.colors.yellow('Run Paused')}${style.colors.dim(` · ${stopReason.replaceAll('_', ' ')}`)}`;
  const why = stopReason === 'model_unavailable' ? 'The model did not answer.' : detail;
  return card({ ...style, isLong: true }, title, [why, ...(answer === null ? [] : [answer])]);
}

function showData(json: string, width: number): string {
  return renderRows(json, width)?.join('\n') ?? json;
}

function costOf(thought: Thought): string {
  return thought.costNanoUsd === '0' ? '' : ` · ${formatNano(BigInt(thought.costNanoUsd))} USD`;
}

function card(style: Style & { isLong?: boolean }, title: string, body: readonly string[]): string {
  const lines = body.flatMap((text) => wrap(toPlainText(text), style.width - INDENT.length));
  const max = style.isLong ? Number.POSITIVE_INFINITY : BODY_LINES_MAX;
  const rest = lines.length > max ? [style.colors.dim(`… ${lines.length - max} more lines on the page`)] : [];
  return [title, ...[...lines.slice(0, max), ...rest].map((line) => `${INDENT}${line}`), ''].join('\n');
}

/** Without control characters, escape sequences and marks that reverse the direction of text. */
function toPlainText(text: string): string {
  // oxlint-disable-next-line no-control-regex -- control characters are what it removes
  return text.replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g, '');
}
