/**
 * Runs that answer a call of another run (an agent as a tool). The child's id follows from the call, so that asking twice
 * starts it once. Its money is its parent's, too; it ends no later than its parent; its answer is one observation.
 */
import { publishFact, putResult, type Bus, type Definitions, type Registry } from '@pawl/bus';
import { cutData, injectionWarning, visibleJson, type ArgumentValidator } from '@pawl/calls';
import {
  failedObservation,
  fingerprint,
  RejectedError,
  resultRef,
  type ActedCall,
  type Definition,
  type Observation,
  type Observed,
  type RunView,
  type Started,
} from '@pawl/contracts';
import { traceOfFact } from '../partitions/trace-of.ts';
import type { RunState } from '../run/state.ts';
import { childIdOf, childOf } from './child-of.ts';
import type { RunStore } from './run-store.ts';
import type { SayWord } from './say-word.ts';
import { publishStarted } from './start-run.ts';

/** `args` as they are to be executed. */
export type SubRunCall = { m: number; call: ActedCall; args: string };

export type SubRuns = {
  /** Sees to it that the child is under way, or that its answer is in the parent's log. Safe to repeat. */
  ensure(parent: RunState, definition: Definition, call: SubRunCall): Promise<void>;
  /** Cancels the child. */
  stop(parent: RunState, call: Omit<SubRunCall, 'args'>): Promise<void>;
  /** Writes the answer of a child that has stopped into its parent's log. */
  report(view: RunView, started: Started): Promise<void>;
};

export type SubRunsOptions = {
  bus: Bus;
  registry: Registry;
  definitions: Definitions;
  store: RunStore;
  sayWord: SayWord;
  validator: ArgumentValidator;
};

export function createSubRuns(using: SubRunsOptions): SubRuns {
  const report = async (view: RunView, child: Started) => {
    const { tokens, cost, waitedMs = 0 } = view;
    const spent = { tokens, costNanoUsd: cost.nanoUsd, waitedMs };
    const observation = child.parent ? await observationOf(using.bus, view, child) : undefined;
    if (observation) await publishAnswer(using.bus, child, { observation, spent });
  };
  return {
    report,
    async ensure(parent, definition, { m, call, args }) {
      const { started, refusal } = await childOf(parent, { ...using, definition, m, call, args });
      if (refusal) {
        await publishAnswer(using.bus, started, { observation: refusal, spent: { tokens: 0, costNanoUsd: '0' } });
        return;
      }
      const requestHash = fingerprint(args);
      const accepted = await using.store.accept({ started, idempotencyKey: undefined, requestHash });
      const child = accepted.outcome === 'repeated' ? accepted.run : { started, view: undefined };
      if (child.view) await report(child.view, child.started);
      else await publishStarted(using.bus, child.started);
    },
    stop: (parent, call) => cancelChild(using.sayWord, parent, call),
  };
}

async function cancelChild(sayWord: SayWord, parent: RunState, { m, call }: Omit<SubRunCall, 'args'>): Promise<void> {
  const { app, traceId } = parent.started;
  const runId = childIdOf(parent.started.runId, m, call.i);
  const at = new Date().toISOString();
  const reason = 'The run that asked for this one was stopped.';
  try {
    await sayWord({ v: 1, kind: 'cancel', runId, app, at, reason, by: parent.started.runId }, traceId);
  } catch (error) {
    if (!(error instanceof RejectedError)) throw error;
  }
}

type Answer = { observation: Observation; spent: NonNullable<Observed['spent']> };

/** A child without a parent answers nobody. */
async function publishAnswer(bus: Bus, child: Started, { observation, spent }: Answer): Promise<void> {
  const { parent } = child;
  if (!parent) return;
  const fact: Observed = {
    v: 1,
    kind: 'observed',
    runId: parent.runId,
    app: child.app,
    at: new Date().toISOString(),
    m: parent.m,
    i: parent.i,
    callId: `call_${parent.m}_${parent.i}`,
    tool: parent.tool ?? child.agent.name,
    trust: 'untrusted',
    observation,
    attempt: 1,
    startedAt: child.at,
    durationMs: Math.max(0, Date.now() - Date.parse(child.at)),
    spent,
  };
  await publishFact(bus, fact, traceOfFact(child.traceId, fact));
}

/** What a child came to, cleaned and cut like the result of any tool; the whole is kept where `read_result` finds it. */
async function observationOf(bus: Bus, view: RunView, child: Started): Promise<Observation> {
  const isAnswered = view.stopReason === 'final_answer';
  const said = JSON.stringify(isAnswered ? { answer: view.answer } : { partialAnswer: view.answer });
  const cut = view.answer === null ? undefined : await cutAnswer(bus, visibleJson(said), child);
  if (isAnswered) {
    const { data = said, message = null, ...where } = cut ?? {};
    return { status: 'ok', errorCode: null, suggestion: null, truncated: false, ref: null, ...where, data, message };
  }
  const failure = failedObservation(view.stopReason === 'cancelled' ? 'cancelled' : 'error', {
    code: view.stopReason ?? 'internal_error',
    message: [view.detail ?? 'The agent stopped without an answer.', cut?.message].filter(Boolean).join(' '),
    suggestion: 'Use what it found so far, or find another way.',
  });
  return cut ? { ...failure, ...cut, message: failure.message } : failure;
}

type CutAnswer = Pick<Observation, 'data' | 'message' | 'truncated' | 'ref'>;

async function cutAnswer(bus: Bus, whole: string, { app, parent }: Started): Promise<CutAnswer> {
  const { data, leftOut } = cutData(whole, parent?.maxChars ?? Infinity);
  const message = [injectionWarning(data), leftOut].filter((text) => text !== undefined).join(' ') || null;
  if (leftOut === undefined || !parent) return { data, message, truncated: false, ref: null };
  const ref = resultRef({ app, ...parent });
  // A whole answer that can't be kept costs the reference, not the observation.
  const isKept = await putResult(bus, { ref }, bytesOf(whole))
    .then(() => true)
    .catch(() => false);
  return { data, message, truncated: true, ref: isKept ? ref : null };
}

async function* bytesOf(text: string): AsyncGenerator<Uint8Array> {
  yield Buffer.from(text);
}
