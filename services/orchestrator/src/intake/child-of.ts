/** The run that an agent called as a tool begins: its limits within its parent's, its money its parent's, its trace the same. */
import type { Definitions, Registry } from '@pawl/bus';
import { admitArguments, type ArgumentValidator } from '@pawl/calls';
import {
  failedObservation,
  RejectedError,
  sha256,
  type ActedCall,
  type Definition,
  type Observation,
  type Started,
} from '@pawl/contracts';
import { callSpanId } from '@pawl/telemetry';
import { reserveOf } from '../run/closing.ts';
import { closingTimeMs, observationCharsOf, settleLimits, spendLimitOfLoop, subRunDepthMax } from '../run/limits.ts';
import { limitsOf, type RunState } from '../run/state.ts';
import { dataClassesOf, isTainted } from '../run/taint.ts';
import { totalsOf } from '../run/totals.ts';
import { declaredIn } from '../run/pin.ts';
import { declaredNow, definitionOf } from './start-run.ts';

/**
 * A child's id follows from the call that it answers, so that the same call starts the same run. Its time is that of its parent, so a
 * whole tree is kept, and goes, together.
 */
export function childIdOf(parentId: string, m: number, i: number): string {
  const born = parentId.slice('run_'.length, 'run_'.length + 12);
  return `run_${born}7${sha256(`${parentId} ${m} ${i}`).slice(0, 19)}`;
}

export type ChildOptions = {
  definition: Definition;
  m: number;
  call: ActedCall;
  /** As they are to be executed. */
  args: string;
  registry: Registry;
  definitions: Definitions;
  validator: ArgumentValidator;
};

/** The child's first fact; with a refusal where it may not begin. */
export async function childOf(
  parent: RunState,
  options: ChildOptions,
): Promise<{ started: Started; refusal?: Observation }> {
  const { definition, call, registry } = options;
  const tool = definition.tools.find(({ object }) => object.metadata.name === call.tool)?.object;
  const name = tool?.spec.agent?.name ?? '';
  // Definitions that were made before agents were pinned don't have them.
  const declared = definition.agents ? declaredIn(definition) : declaredNow(registry, parent.started.app);
  const agent = declared.agent(name);
  const started: Started = {
    ...inheritedBy(parent, options),
    agent: { name: name || 'unknown', revision: agent?.revision ?? sha256('') },
    ...limitsWithin(parent, settleLimits(agent?.object.spec.limits, undefined)),
  };
  if (!agent || !tool) return { started, refusal: missingAgent(name) };
  const admitted = admitArguments(options.validator, tool, options.args);
  if ('failure' in admitted) return { started, refusal: failedObservation('error', admitted.failure) };
  if ((started.ancestors ?? []).length > subRunDepthMax) return { started, refusal: tooDeep };
  try {
    return { started: { ...started, definition: await options.definitions.put(definitionOf(agent, declared)) } };
  } catch (error) {
    if (!(error instanceof RejectedError)) throw error;
    return { started, refusal: failedObservation('error', { code: error.code, message: error.message }) };
  }
}

/** What a child has from its parent, whatever agent it runs. */
function inheritedBy(parent: RunState, { m, call, args, definition }: ChildOptions) {
  const dataClasses = dataClassesOf(parent, definition);
  const { started } = parent;
  const own = {
    runId: started.runId,
    spendLimitNanoUsd: spendLimitOfLoop(limitsOf(parent)).toString(),
    reserve: reserveOf(parent, definition),
  };
  return {
    v: 1 as const,
    kind: 'started' as const,
    runId: childIdOf(started.runId, m, call.i),
    app: started.app,
    definition: sha256(''),
    input: inputOf(args),
    ...(started.user ? { user: started.user } : {}),
    ...(started.keyId === undefined ? {} : { keyId: started.keyId }),
    lane: started.lane,
    parent: {
      runId: started.runId,
      m,
      i: call.i,
      tool: call.tool,
      maxChars: observationCharsOf(definition.agent.object.spec),
    },
    ancestors: [own, ...(started.ancestors ?? [])],
    ...(isTainted(parent, m) ? { isTainted: true } : {}),
    ...(dataClasses.length > 0 ? { dataClasses } : {}),
    ...(started.areWritesBlocked ? { areWritesBlocked: true } : {}),
    traceId: started.traceId,
    parentSpanId: callSpanId(started.runId, m, call.i),
  };
}

/** An agent's own limits, cut to what its parent has left. */
function limitsWithin(parent: RunState, own: ReturnType<typeof settleLimits>) {
  const nowMs = Date.now();
  const left = limitsOf(parent);
  const totals = totalsOf(parent);
  const wallClockMs = Math.max(1, Math.min(own.wallClockMs, closingTimeMs(parent, nowMs) - nowMs));
  const spend = smaller(BigInt(own.spendNanoUsd), spendLimitOfLoop(left) - totals.costNanoUsd);
  return {
    at: new Date(nowMs).toISOString(),
    limits: {
      ...own,
      wallClockMs,
      tokens: Math.max(1, Math.min(own.tokens, left.tokens - totals.tokens)),
      spendNanoUsd: (spend > 0n ? spend : 0n).toString(),
    },
    deadlineAt: new Date(nowMs + wallClockMs).toISOString(),
  };
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
