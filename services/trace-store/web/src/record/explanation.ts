/** A run as a layperson is told it: what was looked up and what came of it, what was not done. No thoughts. Pure. */
import type { ObservationStatus } from '@pawl/contracts';
import { ExactNumber, isExactRecord, isScalar, parseExact } from './exact-json.ts';
import type { Story, StoryCall } from './story.ts';
import { tableOf } from './table.ts';
import { bodyOf } from './trace.ts';

export type Outcome =
  | { kind: 'rows'; count: number }
  | { kind: 'value'; text: string }
  | { kind: 'result' }
  | { kind: 'running' | 'waiting' | 'lost' | 'large' }
  | { kind: 'not_done'; status: Exclude<ObservationStatus, 'ok'>; message: string | null };

export type ToldCall = {
  slot: string;
  tool: string | undefined;
  /** The first few plain arguments, as they were. */
  args: { name: string; value: string }[];
  outcome: Outcome;
  /** What a person decided on it. */
  decision?: { kind: string; by: string; reason: string | undefined };
};

export type Explanation = {
  steps: { m: number; calls: ToldCall[] }[];
  /** What was asked for and not done, in order. */
  notDone: ToldCall[];
};

const argsMax = 4;
const valueCharsMax = 80;

/** What a run did and did not do. Calls that were already known are neither. */
export function explain(story: Story): Explanation {
  const steps = story.turns
    .filter(({ calls }) => calls.length > 0)
    .map(({ m, calls }) => ({ m, calls: calls.map(tell) }))
    .map(({ m, calls }) => ({ m, calls: calls.filter(({ outcome }) => !isDuplicate(outcome)) }))
    .filter(({ calls }) => calls.length > 0);
  const notDone = steps.flatMap(({ calls }) => calls.filter(({ outcome }) => outcome.kind === 'not_done'));
  return { steps, notDone };
}

function isDuplicate(outcome: Outcome): boolean {
  return outcome.kind === 'not_done' && outcome.status === 'duplicate';
}

function tell(call: StoryCall): ToldCall {
  const approval = bodyOf(call.approval, 'approval');
  return {
    slot: call.slot,
    tool: call.tool,
    args: plainArguments(call.args),
    outcome: outcomeOf(call),
    ...(approval ? { decision: { kind: approval.decision, by: approval.by, reason: approval.reason } } : {}),
  };
}

function plainArguments(text: string | undefined): ToldCall['args'] {
  const value = parseExact(text || '{}');
  if (!isExactRecord(value)) return [];
  return Object.entries(value)
    .flatMap(([name, item]) => (isScalar(item) && item !== null ? [{ name, value: String(item) }] : []))
    .filter(({ value: shown }) => shown.length <= valueCharsMax && !shown.includes('\n'))
    .slice(0, argsMax);
}

function outcomeOf(call: StoryCall): Outcome {
  if (call.state === 'running' || call.state === 'waiting') return { kind: call.state };
  if (!call.observed) return { kind: 'lost' };
  const observation = bodyOf(call.observed, 'observed')?.observation;
  if (!observation) {
    const status = call.observed.status as ObservationStatus;
    return status === 'ok' ? { kind: 'large' } : { kind: 'not_done', status, message: null };
  }
  if (observation.status !== 'ok') {
    return { kind: 'not_done', status: observation.status, message: observation.message };
  }
  return resultOf(observation.data);
}

function resultOf(data: string | null): Outcome {
  const value = data === null ? null : (parseExact(data) ?? data);
  if (value === null) return { kind: 'result' };
  const table = tableOf(value);
  if (table) return { kind: 'rows', count: table.count };
  if (value instanceof ExactNumber) return { kind: 'value', text: value.text };
  if (typeof value === 'string' && value.length <= valueCharsMax) return { kind: 'value', text: value };
  return { kind: 'result' };
}
