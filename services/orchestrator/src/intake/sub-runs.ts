/**
 * Runs that answer a call of another run (an agent as a tool). The child's id follows from the call, so that asking twice
 * starts it once. Its money is its parent's, too; it ends no later than its parent; its answer is one observation.
 */
import { publishFact, type Bus, type Definitions, type Registry } from '@pawl/bus';
import {
  failedObservation,
  fingerprint,
  RejectedError,
  sha256,
  type ActedCall,
  type Definition,
  type Observation,
  type Observed,
  type RunView,
  type Started,
} from '@pawl/contracts';
import { callSpanId } from '@pawl/telemetry';
import { traceOfFact } from '../partitions/trace-of.ts';
import { closingTimeMs, settleLimits, spendLimitFor, subRunDepthMax } from '../run/limits.ts';
import { limitsOf, type RunState } from '../run/state.ts';
import { isTainted } from '../run/taint.ts';
import { totalsOf } from '../run/totals.ts';
import type { SayWord } from './say-word.ts';
import { definitionOf, publishStarted } from './start-run.ts';
import type { RunStore } from './run-store.ts';

export type SubRunCall = { m: number; call: ActedCall };

export type SubRuns = {
  /** Sees to it that the child is under way, or that its answer is in the parent's log. Safe to repeat. */
  ensure(parent: RunState, definition: Definition, call: SubRunCall): Promise<void>;
  /** Cancels the child. */
  stop(parent: RunState, call: SubRunCall): Promise<void>;
  /** Writes the answer of a child that has stopped into its parent's log. */
  report(view: RunView, started: Started): Promise<void>;
};

export function createSubRuns(using: {
  bus: Bus;
  registry: Registry;
  definitions: Definitions;
  store: RunStore;
  sayWord: SayWord;
}): SubRuns {
  const { bus, registry, definitions, store, sayWord } = using;

  const report = async (view: RunView, child: Started) => {
    if (!child.parent) return;
    await publishObserved(bus, child, observationOf(view), { tokens: view.tokens, costNanoUsd: view.cost.nanoUsd });
  };

  return {
    report,
    async ensure(parent, definition, { m, call }) {
      const child = await childOf(parent, { definition, m, call, registry, definitions });
      if ('refusal' in child) {
        await publishObserved(bus, child.started, child.refusal, { tokens: 0, costNanoUsd: '0' });
        return;
      }
      const accepted = await store.accept({
        started: child.started,
        idempotencyKey: undefined,
        requestHash: fingerprint(call.args),
      });
      if (accepted.outcome === 'repeated' && accepted.run.view) await report(accepted.run.view, accepted.run.started);
      else await publishStarted(bus, accepted.outcome === 'repeated' ? accepted.run.started : child.started);
    },
    async stop(parent, { m, call }) {
      const runId = childIdOf(parent.started.runId, m, call.i);
      const { app, traceId } = parent.started;
      const at = new Date().toISOString();
      const reason = 'The run that asked for this one was stopped.';
      await sayWord({ v: 1, kind: 'cancel', runId, app, at, reason, by: parent.started.runId }, traceId).catch(
        (error: unknown) => {
          if (!(error instanceof RejectedError)) throw error;
        },
      );
    },
  };

  async function publishObserved(
    to: Bus,
    child: Started,
    observation: Observation,
    spent: NonNullable<Observed['spent']>,
  ): Promise<void> {
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
    await publishFact(to, fact, traceOfFact(child.traceId, fact));
  }
}

function childIdOf(parentId: string, m: number, i: number): string {
  return `run_${sha256(`${parentId} ${m} ${i}`).slice(0, 32)}`;
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

type ChildOptions = {
  definition: Definition;
  m: number;
  call: ActedCall;
  registry: Registry;
  definitions: Definitions;
};

async function childOf(
  parent: RunState,
  options: ChildOptions,
): Promise<{ started: Started } | { started: Started; refusal: Observation }> {
  const { definition, m, call, registry } = options;
  const tool = definition.tools.find(({ object }) => object.metadata.name === call.tool)?.object;
  const name = tool?.spec.agent?.name ?? '';
  const agent = registry.find('Agent', parent.started.app, name);
  const ancestors = [
    { runId: parent.started.runId, spendLimitNanoUsd: spendLimitFor(limitsOf(parent), 'loop').toString() },
    ...(parent.started.ancestors ?? []),
  ];
  const nowMs = Date.now();
  const totals = totalsOf(parent);
  const own = settleLimits(agent?.object.spec.limits, undefined);
  const left = limitsOf(parent);
  const wallClockMs = Math.max(1, Math.min(own.wallClockMs, closingTimeMs(parent, nowMs) - nowMs));
  const spend = smaller(BigInt(own.spendNanoUsd), spendLimitFor(left, 'loop') - totals.costNanoUsd);
  const base: Started = {
    v: 1,
    kind: 'started',
    runId: childIdOf(parent.started.runId, m, call.i),
    app: parent.started.app,
    at: new Date(nowMs).toISOString(),
    agent: { name: name || 'unknown', revision: agent?.revision ?? sha256('') },
    definition: sha256(''),
    input: inputOf(call.args),
    ...(parent.started.user ? { user: parent.started.user } : {}),
    lane: parent.started.lane,
    limits: {
      ...own,
      wallClockMs,
      tokens: Math.max(1, Math.min(own.tokens, left.tokens - totals.tokens)),
      spendNanoUsd: (spend > 0n ? spend : 0n).toString(),
    },
    deadlineAt: new Date(nowMs + wallClockMs).toISOString(),
    parent: { runId: parent.started.runId, m, i: call.i },
    ancestors,
    ...(isTainted(parent, m) ? { isTainted: true } : {}),
    ...(parent.started.areWritesBlocked ? { areWritesBlocked: true } : {}),
    traceId: parent.started.traceId,
    parentSpanId: callSpanId(parent.started.runId, m, call.i),
  };
  if (!agent) return { started: base, refusal: missingAgent(name) };
  if (ancestors.length > subRunDepthMax) return { started: base, refusal: tooDeep };
  try {
    return { started: { ...base, definition: await options.definitions.put(definitionOf(agent, registry)) } };
  } catch (error) {
    if (!(error instanceof RejectedError)) throw error;
    return { started: base, refusal: failedObservation('error', { code: error.code, message: error.message }) };
  }
}

function missingAgent(name: string): Observation {
  return failedObservation('error', { code: 'unknown_agent', message: `There is no agent ${name} in this app.` });
}

const tooDeep = failedObservation('denied', {
  code: 'tool_not_allowed',
  message: `Agents may not call agents more than ${subRunDepthMax} levels deep.`,
  suggestion: 'Do this part yourself.',
});

/** What a sub-agent is asked: the argument `input`, `question` or `task` where there is one, else all arguments. */
function inputOf(args: string): string {
  const parsed = JSON.parse(args) as Record<string, unknown>;
  const text = parsed['input'] ?? parsed['question'] ?? parsed['task'];
  return typeof text === 'string' && text !== '' ? text : args;
}

function smaller(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
