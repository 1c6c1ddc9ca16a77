/**
 * A run as a layperson is told it: what was done and what came of it, what was not done, what nobody knows. No thoughts, no code,
 * no words that were meant for the model. Pure.
 */
import type { Approval, ObservationStatus, StopReason } from '@pawl/contracts';
import { ExactNumber, isExactRecord, isScalar, parseExact, type ExactRecord, type ExactValue } from './exact-json.ts';
import { costOfNano } from './format.ts';
import { keyFiguresOf } from './key-figures.ts';
import { voidOf, type Story, type StoryCall } from './story.ts';
import { tableOf } from './table.ts';
import { bodyOf, type TraceRecord } from './trace.ts';

export type Outcome =
  | { kind: 'rows'; count: number }
  | { kind: 'value'; text: string; isNumber: boolean }
  | { kind: 'result' | 'running' | 'waiting' | 'lost' }
  | {
      kind: 'not_done';
      status: Exclude<ObservationStatus, 'ok' | 'duplicate'>;
      code: string | undefined;
      /** What the tool itself said about it. */
      said: string | undefined;
    };

/** What a person decided on a call. `by`: the user, where it was one. */
export type ToldDecision = { kind: Approval['decision']; by: string | undefined; reason: string | undefined };

export type ToldCall = {
  slot: string;
  tool: string | undefined;
  /** What the agent asked a person, where the call is a question. */
  question: string | undefined;
  /** The first few plain arguments; a truth value as such. */
  args: { name: string; value: string | boolean }[];
  outcome: Outcome;
  decision: ToldDecision | undefined;
  /** Whether it was asked for when the run was only to give its answer any more. */
  isTooLate: boolean;
  /** Set where the tool was changed before: then a person’s word is void, given or not. */
  voided: ReturnType<typeof voidOf>;
  /** Whether a later use of the same tool worked. */
  isMadeGood: boolean;
};

export type Explanation = {
  steps: { m: number; calls: ToldCall[] }[];
  /** What was asked for and not done, in order. */
  notDone: ToldCall[];
  /** Of which nobody knows whether it was done. */
  unclear: ToldCall[];
  /** Whether records are missing that may have said more. */
  isIncomplete: boolean;
  /** What people told it while it worked, answers to its questions apart. */
  messages: string[];
  /** Why it was cancelled, in the words of who did. */
  cancelReason: string | undefined;
  /** How much it was allowed, by the stop reason that says that it was used up. `max_spend`: decimal text, USD. */
  allowed: Partial<Record<Exclude<StopReason, 'max_spend'>, number>> & { max_spend?: string };
};

const argsMax = 4;
const valueCharsMax = 80;

/** What a run did and did not do. What was known already is neither, and giving the answer is no deed. */
export function explain(story: Story): Explanation {
  const told = story.turns.map(({ m, thought, calls }) => ({
    m,
    calls: calls.filter(isDeed).map((call) => tell(call, thought)),
  }));
  const goodAt = new Map<string | undefined, number>();
  for (const { m, calls } of told) {
    for (const { tool, outcome } of calls) if (hasWorked(outcome)) goodAt.set(tool, m);
  }
  const steps = told
    .filter(({ calls }) => calls.length > 0)
    .map(({ m, calls }) => ({
      m,
      calls: calls.map((call) => ({ ...call, isMadeGood: hasFailed(call) && (goodAt.get(call.tool) ?? -1) > m })),
    }));
  const all = steps.flatMap(({ calls }) => calls);
  const isUnclear = ({ outcome }: ToldCall) =>
    outcome.kind === 'lost' || (outcome.kind === 'not_done' && outcome.status === 'in_doubt');
  return {
    steps,
    notDone: all.filter((call) => call.outcome.kind === 'not_done' && !isUnclear(call)),
    unclear: all.filter(isUnclear),
    isIncomplete: story.turns.some(({ lost }) => lost.length > 0),
    messages: messagesOf(story, all),
    cancelReason: cancelReasonOf(story),
    allowed: allowedOf(story),
  };
}

function isDeed({ observed, admission }: StoryCall): boolean {
  const status = observed && statusOf(observed);
  return status !== 'duplicate' && !(admission === 'answered' && status === 'ok');
}

function hasFailed({ outcome: { kind } }: ToldCall): boolean {
  return kind === 'not_done' || kind === 'lost';
}

function hasWorked({ kind }: Outcome): boolean {
  return kind === 'rows' || kind === 'value' || kind === 'result';
}

function tell(call: StoryCall, thought: TraceRecord | undefined): ToldCall {
  const isQuestion = call.admission === 'input';
  return {
    slot: call.slot,
    tool: call.tool,
    question: isQuestion ? call.why : undefined,
    args: isQuestion ? [] : plainArguments(argumentsOf(call)),
    outcome: outcomeOf(call, isQuestion),
    decision: decisionOf(call),
    isTooLate: thought?.purpose === 'conclude',
    voided: voidOf(call),
    isMadeGood: false,
  };
}

function decisionOf(call: StoryCall): ToldDecision | undefined {
  const approval = bodyOf(call.approval, 'approval');
  if (!approval) return undefined;
  return { kind: approval.decision, by: /^user (.+)$/su.exec(approval.by)?.[1], reason: approval.reason };
}

/** As they were executed: a person may have changed them. */
function argumentsOf(call: StoryCall): string | undefined {
  const approval = bodyOf(call.approval, 'approval');
  return approval?.decision === 'edit' ? (approval.args ?? call.args) : call.args;
}

function plainArguments(text: string | undefined): ToldCall['args'] {
  const value = parseExact(text || '{}');
  if (!isExactRecord(value)) return [];
  return Object.entries(value)
    .map(([name, item]) => ({ name, value: plainValue(item) }))
    .filter((pair): pair is ToldCall['args'][number] => pair.value !== undefined)
    .slice(0, argsMax);
}

function plainValue(value: ExactValue): string | boolean | undefined {
  if (typeof value === 'boolean') return value;
  return isScalar(value) && value !== null && isPlain(String(value)) ? String(value) : undefined;
}

/** No query, markup, code, address with parameters or key: words, names, numbers and dates. */
function isPlain(text: string): boolean {
  const isCode = /[{}<>\\;=|]|\b(select|insert|update|delete|with)\b.+\b(from|into|set|as)\b|[0-9a-f-]{24,}/i.test(
    text,
  );
  return text.trim() !== '' && text.length <= valueCharsMax && !text.includes('\n') && !isCode;
}

function statusOf(observed: NonNullable<StoryCall['observed']>): ObservationStatus | undefined {
  return (bodyOf(observed, 'observed')?.observation.status ?? observed.status) as ObservationStatus | undefined;
}

/** Errors of which the tool itself knows best what was wrong. The words on others are for the model. */
const saidByTools = new Set(['tool_failed']);

function outcomeOf(call: StoryCall, isQuestion: boolean): Outcome {
  if (call.state === 'running' || call.state === 'waiting') return { kind: call.state };
  if (!call.observed) return { kind: 'lost' };
  const observation = bodyOf(call.observed, 'observed')?.observation;
  const status = statusOf(call.observed) ?? 'error';
  if (status !== 'ok' && status !== 'duplicate') {
    const code = observation?.errorCode ?? undefined;
    const isTold = code !== undefined && saidByTools.has(code);
    return { kind: 'not_done', status, code, said: (isTold && observation?.message) || undefined };
  }
  const value = observation?.data == null ? null : (parseExact(observation.data) ?? observation.data);
  return resultOf(isQuestion && isExactRecord(value) ? (value.answer ?? null) : value);
}

function resultOf(value: ExactValue): Outcome {
  const figures = keyFiguresOf(value);
  if (figures) return { kind: 'rows', count: figures.count };
  const table = tableOf(value);
  if (table) return { kind: 'rows', count: table.count };
  const single = isExactRecord(value) ? onlyValue(value) : value;
  if (single instanceof ExactNumber) return { kind: 'value', text: single.text, isNumber: true };
  if (typeof single === 'string' && isPlain(single)) return { kind: 'value', text: single, isNumber: false };
  return { kind: 'result' };
}

/** `{"result": 24850}` is 24,850, and so is `{"expression": "248.50 * 100", "result": 24850}`. */
function onlyValue(record: ExactRecord): ExactValue {
  const [value, ...others] = Object.values(record);
  return others.length === 0 ? (value ?? null) : (record.result ?? null);
}

function notesOf({ notes, turns }: Story): TraceRecord[] {
  return [notes, ...turns.map((turn) => turn.notes)].flat();
}

function messagesOf(story: Story, calls: readonly ToldCall[]): string[] {
  const answers = new Set(
    calls.flatMap(({ question, outcome }) => (question !== undefined && outcome.kind === 'value' ? outcome.text : [])),
  );
  return notesOf(story)
    .flatMap((record) => bodyOf(record, 'signal')?.text ?? [])
    .filter((text) => !answers.has(text));
}

function cancelReasonOf(story: Story): string | undefined {
  return bodyOf(
    notesOf(story).find(({ kind }) => kind === 'cancel'),
    'cancel',
  )?.reason;
}

function allowedOf(story: Story): Explanation['allowed'] {
  const { started } = story;
  const resumed = notesOf(story).findLast(({ kind }) => kind === 'resumed');
  const limits = bodyOf(resumed, 'resumed')?.limits ?? bodyOf(started, 'started')?.limits;
  if (!limits) return {};
  return {
    max_steps: limits.steps,
    max_tool_calls: limits.toolCalls,
    deadline: limits.wallClockMs,
    max_spend: costOfNano(limits.spendNanoUsd).amount,
  };
}
