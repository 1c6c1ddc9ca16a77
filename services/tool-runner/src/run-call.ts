/**
 * Runs one call from its argument text to its report: read the arguments, validate them, execute with a deadline, try again
 * where that is harmless, cut the result. The same path for act work and for trying a tool over HTTP.
 * Whatever goes wrong with the call is in the report; it throws `UnavailableError` only where an effect can't be recorded.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { toolKindOf, type ActWork, type Agent, type Tool, type ToolKind } from '@pawl/contracts';
import { withTrace, type TraceContext } from '@pawl/telemetry';
import type { ArgumentValidator } from './arguments/argument-validator.ts';
import { parseArguments, type Arguments } from './arguments/arguments.ts';
import { isWrite, mayTryAgain, observationOf, timeoutMsOf } from './call/observation-of.ts';
import { BrokenOffError, refusal, type Outcome } from './call/outcome.ts';
import { storableError } from './call/raw-error.ts';
import type { Report } from './effects/report.ts';
import type { Kind, KindCall } from './kinds/kind.ts';
import type { ResultStore } from './kinds/builtin/read-result.ts';
import { createNestedCaller } from './nested-call.ts';
import type { RunStops } from './run-stops.ts';
import type { WriteGuard } from './guard-write.ts';

export type CallRequest = {
  app: string;
  tool: Tool;
  /** The model's own text. */
  args: string;
  maxChars: number;
  /** Unix time in milliseconds after which nobody waits any more; the tool's own timeout may be sooner. */
  deadlineAtMs: number;
  /** Where the call stands in a run; absent when a tool is only tried. */
  position: CallPosition | undefined;
  /** The call's id in its run. */
  callId?: string;
  /** Who started the run. */
  user?: ActWork['user'];
  /** What the run is pinned to. */
  pinned?: { agent: Agent; tools: readonly Tool[] };
  /** The signal of the call that this one is a part of. */
  parentSignal?: AbortSignal;
  /** Tells apart the tries of a writing tool outside a run. */
  tryId?: string;
  trace: TraceContext;
};

/** `within` names the outer tool and its step where a call is a part of another one. */
export type CallPosition = { runId: string; m: number; i: number; step: number; within?: string };

export type CallRunnerOptions = {
  kinds: Partial<Record<ToolKind, Kind>>;
  validator: ArgumentValidator;
  guardWrite: WriteGuard;
  /** A declared tool of an app, for tools that call others. */
  findTool: (app: string, name: string) => Tool | undefined;
  results: ResultStore;
  stops: RunStops;
  /** Values that must not appear in stored errors. */
  secretValues: () => Iterable<string>;
  now: () => number;
};

export type CallRunner = (request: CallRequest) => Promise<Report>;

const storedCharsMax = 64 * 1024 * 1024;
const retryDelayMs = 100;
/** What a tool without declared parameters takes. */
const anyObject = { type: 'object' } as const;

export function createCallRunner(options: CallRunnerOptions): CallRunner {
  const runCall: CallRunner = async (request) => {
    const startedAtMs = options.now();
    const report = (outcome: Outcome, attempt: number) => reportOf(outcome, { request, options, startedAtMs, attempt });
    const admitted = admit(request, options);
    if ('outcome' in admitted) return await report(admitted.outcome, 1);
    const { kind, args } = admitted;

    const deadlineAtMs = Math.min(request.deadlineAtMs, startedAtMs + timeoutMsOf(request.tool.spec));
    if (deadlineAtMs <= startedAtMs) return await report(timeIsOver, 1);
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(new BrokenOffError('timeout')), deadlineAtMs - startedAtMs);
    const unwatch = watchStops(request, options.stops, controller);
    const { signal } = controller;
    const callTool = createNestedCaller({ request, signal, deadlineAtMs, runCall, findTool: options.findTool });
    const execute = async (effectKey: string | undefined) => {
      const call = kindCall(request, { args, effectKey, deadlineAtMs, signal, callTool });
      const { outcome, attempt } = await executeWithRetry(kind, call, deadlineAtMs - startedAtMs);
      return await report(outcome, attempt);
    };
    try {
      if (!isWrite(request.tool.spec)) return await execute(undefined);
      return await options.guardWrite({
        request,
        args,
        signal,
        execute,
        refuse: (outcome) => report(outcome, 1),
      });
    } finally {
      clearTimeout(timer);
      unwatch();
    }
  };
  return runCall;
}

/** A call is broken off when its run stops, and when the call that it is a part of is. */
function watchStops(
  { app, position, parentSignal }: CallRequest,
  stops: RunStops,
  controller: AbortController,
): () => void {
  const unwatch = position ? stops.watch({ app, runId: position.runId }, controller) : () => {};
  const onAbort = () => controller.abort(parentSignal?.reason);
  if (parentSignal?.aborted) onAbort();
  parentSignal?.addEventListener('abort', onAbort, { once: true });
  return () => {
    unwatch();
    parentSignal?.removeEventListener('abort', onAbort);
  };
}

const timeIsOver = refusal('tool_timeout', 'The time of the run was over before the call began.');

/** Nothing is executed with arguments that don't fit. */
function admit(
  request: CallRequest,
  { kinds, validator }: CallRunnerOptions,
): { kind: Kind; args: Arguments } | { outcome: Outcome } {
  const kind = kinds[toolKindOf(request.tool.spec)];
  if (!kind)
    return { outcome: refusal('not_supported', 'Tools of this kind are not supported yet.', 'Use another tool.') };
  const parsed = parseArguments(request.args);
  const suggestion = `Correct the arguments and call ${request.tool.metadata.name} again.`;
  if ('failure' in parsed) return { outcome: refusal(parsed.failure.code, parsed.failure.message, suggestion) };
  const schema = request.tool.spec.parameters ?? anyObject;
  const verdict = validator.validate(schema, { value: parsed.args.value, charCount: parsed.args.text.length });
  if (!verdict.isValid) return { outcome: refusal('invalid_arguments', verdict.message, suggestion) };
  return { kind, args: parsed.args };
}

type Prepared = Pick<KindCall, 'args' | 'effectKey' | 'deadlineAtMs' | 'signal' | 'callTool'>;

function kindCall(request: CallRequest, prepared: Prepared): KindCall {
  const { app, tool, trace, maxChars, position } = request;
  return { app, tool, trace, maxChars, runId: position?.runId, ...prepared };
}

async function executeWithRetry(
  kind: Kind,
  call: KindCall,
  timeoutMs: number,
): Promise<{ outcome: Outcome; attempt: number }> {
  for (let attempt = 1; ; attempt += 1) {
    const outcome = await executeOnce(kind, call, timeoutMs);
    if (!mayTryAgain(call.tool.spec, outcome, attempt)) return { outcome, attempt };
    const isOver = await delay(retryDelayMs, false, { signal: call.signal }).catch(() => true);
    if (isOver) return { outcome, attempt };
  }
}

/** Ends as soon as the signal is aborted, also where a kind is slow to let go. */
async function executeOnce(kind: Kind, call: KindCall, timeoutMs: number): Promise<Outcome> {
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const onAbort = () => reject(call.signal.reason as Error);
  call.signal.addEventListener('abort', onAbort, { once: true });
  try {
    call.signal.throwIfAborted();
    return await Promise.race([withTrace(call.trace, () => kind.execute(call)), aborted]);
  } catch (error) {
    const reason: unknown = call.signal.aborted ? call.signal.reason : error;
    return reason instanceof BrokenOffError ? brokenOff(reason, timeoutMs) : mistake(error);
  } finally {
    call.signal.removeEventListener('abort', onAbort);
  }
}

function brokenOff({ by }: BrokenOffError, timeoutMs: number): Outcome {
  if (by === 'cancelled') {
    return {
      kind: 'failure',
      code: 'run_stopped',
      message: 'The run was stopped while the tool was at work.',
      isTransient: false,
      effect: 'possible',
    };
  }
  return {
    kind: 'failure',
    code: 'tool_timeout',
    message: `The tool did not answer within ${timeoutMs / 1_000} s.`,
    suggestion: 'Ask for less, or use another tool.',
    isTransient: false,
    effect: 'possible',
  };
}

/** A bug of a kind costs this call, not the run. */
function mistake(error: unknown): Outcome {
  return {
    kind: 'failure',
    code: 'internal_error',
    message: 'The tool could not be run because of a mistake on our side.',
    suggestion: 'Use another tool.',
    rawError: error instanceof Error ? (error.stack ?? error.message) : String(error),
    isTransient: false,
    effect: 'possible',
  };
}

type ReportContext = { request: CallRequest; options: CallRunnerOptions; startedAtMs: number; attempt: number };

async function reportOf(outcome: Outcome, { request, options, startedAtMs, attempt }: ReportContext): Promise<Report> {
  const { spec } = request.tool;
  const { observation, whole } = observationOf(outcome, { spec, maxChars: request.maxChars });
  const ref =
    whole !== undefined && request.position && !request.position.within
      ? await store(whole, request, options.results)
      : null;
  const rawError = outcome.kind === 'failure' ? outcome.rawError : undefined;
  return {
    observation: { ...observation, ref },
    trust: spec.returns?.trust ?? 'untrusted',
    ...(rawError === undefined ? {} : { rawError: storableError(rawError, options.secretValues()) }),
    attempt,
    startedAt: new Date(startedAtMs).toISOString(),
    durationMs: Math.max(0, options.now() - startedAtMs),
  };
}

/** A whole result that can't be kept costs the reference, not the observation. */
async function store(whole: string, request: CallRequest, results: ResultStore): Promise<string | null> {
  if (!request.position || whole.length > storedCharsMax) return null;
  const { runId, m, i } = request.position;
  return await results.put({ app: request.app, runId, m, i }, whole).catch(() => null);
}
