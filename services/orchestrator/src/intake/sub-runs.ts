/**
 * Runs that answer a call of another run (an agent as a tool). The child's id follows from the call, so that asking twice
 * starts it once. Its money is its parent's, too; it ends no later than its parent; its answer is one observation.
 */
import { publishFact, type Bus, type Definitions, type Registry } from '@pawl/bus';
import {
  failedObservation,
  fingerprint,
  RejectedError,
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

export type SubRunCall = { m: number; call: ActedCall };

export type SubRuns = {
  /** Sees to it that the child is under way, or that its answer is in the parent's log. Safe to repeat. */
  ensure(parent: RunState, definition: Definition, call: SubRunCall): Promise<void>;
  /** Cancels the child. */
  stop(parent: RunState, call: SubRunCall): Promise<void>;
  /** Writes the answer of a child that has stopped into its parent's log. */
  report(view: RunView, started: Started): Promise<void>;
};

export type SubRunsOptions = {
  bus: Bus;
  registry: Registry;
  definitions: Definitions;
  store: RunStore;
  sayWord: SayWord;
};

export function createSubRuns(using: SubRunsOptions): SubRuns {
  const report = async (view: RunView, child: Started) => {
    const spent = { tokens: view.tokens, costNanoUsd: view.cost.nanoUsd };
    await publishAnswer(using.bus, child, { observation: observationOf(view), spent });
  };
  return {
    report,
    async ensure(parent, definition, { m, call }) {
      const { started, refusal } = await childOf(parent, { ...using, definition, m, call });
      if (refusal) {
        await publishAnswer(using.bus, started, { observation: refusal, spent: { tokens: 0, costNanoUsd: '0' } });
        return;
      }
      const requestHash = fingerprint(call.args);
      const accepted = await using.store.accept({ started, idempotencyKey: undefined, requestHash });
      const child = accepted.outcome === 'repeated' ? accepted.run : { started, view: undefined };
      if (child.view) await report(child.view, child.started);
      else await publishStarted(using.bus, child.started);
    },
    stop: (parent, call) => cancelChild(using.sayWord, parent, call),
  };
}

async function cancelChild(sayWord: SayWord, parent: RunState, { m, call }: SubRunCall): Promise<void> {
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
    tool: child.agent.name,
    trust: 'untrusted',
    observation,
    attempt: 1,
    startedAt: child.at,
    durationMs: Math.max(0, Date.now() - Date.parse(child.at)),
    spent,
  };
  await publishFact(bus, fact, traceOfFact(child.traceId, fact));
}

function observationOf(view: RunView): Observation {
  if (view.stopReason === 'final_answer') {
    const data = JSON.stringify({ answer: view.answer });
    return { status: 'ok', data, errorCode: null, message: null, suggestion: null, truncated: false, ref: null };
  }
  const failure = failedObservation(view.stopReason === 'cancelled' ? 'cancelled' : 'error', {
    code: view.stopReason ?? 'internal_error',
    message: view.detail ?? 'The agent stopped without an answer.',
    suggestion: 'Use what it found so far, or find another way.',
  });
  return view.answer === null ? failure : { ...failure, data: JSON.stringify({ partialAnswer: view.answer }) };
}
