/**
 * Runs one call from its argument text to its report: read the arguments, validate them, execute with a deadline, try again
 * where that is harmless, cut the result. The same path for act work and for trying a tool over HTTP.
 * Whatever goes wrong with the call is in the report; it throws `UnavailableError` only where an effect can't be recorded.
 */
import { admitArguments, type Arguments, type ArgumentValidator } from '@pawl/calls';
import { toolKindOf, type ActWork, type Agent, type Tool, type ToolKind } from '@pawl/contracts';
import type { TraceContext } from '@pawl/telemetry';
import { createCallClock } from './call-clock.ts';
import type { CallLimits } from './call-limits.ts';
import type { Circuits } from './call/circuit.ts';
import { idleMsOf, isWrite, timeoutMsOf } from './call/observation-of.ts';
import { BrokenOffError, refusal, type Outcome } from './call/outcome.ts';
import { storableError } from './call/raw-error.ts';
import type { Report } from './effects/report.ts';
import type { RunLog } from './effects/run-log.ts';
import { brokenOff, executeCall } from './execute-call.ts';
import type { HeavyWork } from './heavy/heavy-work.ts';
import type { Kind, KindCall } from './kinds/kind.ts';
import { createNestedCaller } from './nested-call.ts';
import { bytesOf, createSpool, type ResultStore, type Spool } from './results/result-store.ts';
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
  circuits: Circuits;
  limits: CallLimits;
  heavy: HeavyWork;
  runLog: RunLog;
  /** Values that must not appear in stored errors. */
  secretValues: () => Iterable<string>;
  now: () => number;
};

export type CallRunner = (request: CallRequest) => Promise<Report>;

export function createCallRunner(options: CallRunnerOptions): CallRunner {
  const lateCalls = { underWay: 0 };
  const runCall: CallRunner = async (request) => {
    const startedAtMs = options.now();
    const report = (outcome: Outcome, attempt: number) => reportOf(outcome, { request, options, startedAtMs, attempt });
    const admitted = admit(request, options);
    if ('outcome' in admitted) return await report(admitted.outcome, 1);
    const { kind, args } = admitted;

    const deadlineAtMs = Math.min(request.deadlineAtMs, startedAtMs + timeoutMsOf(request.tool.spec));
    if (deadlineAtMs <= startedAtMs) return await report(timeIsOver, 1);
    const controller = new AbortController();
    const times = { timeoutMs: deadlineAtMs - startedAtMs, idleMs: idleMsOf(request.tool.spec) };
    const clock = createCallClock(times, controller);
    const unwatch = watchStops(request, options.stops, controller);
    const { signal } = controller;
    const callTool = createNestedCaller({ request, signal, deadlineAtMs, runCall, findTool: options.findTool });
    const execute = async (effectKey?: string, keepLate?: (late: Report) => Promise<void>) => {
      const spool = spoolOf(request, options.results);
      const { onLife } = clock;
      const ofRun = askRunLog(request, options.runLog);
      const call = kindCall(request, { args, effectKey, deadlineAtMs, signal, spool, onLife, ...ofRun, callTool });
      const onLate = keepLate && (async (outcome: Outcome) => await keepLate(await report(outcome, 1)));
      const { circuits } = options;
      clock.begin();
      const { outcome, attempt } = await executeCall({
        kind,
        lateCalls,
        call,
        circuits,
        times,
        ...(onLate ? { onLate } : {}),
      });
      return await report(outcome, attempt);
    };
    let leave = () => {};
    try {
      leave = await options.limits.enter(limitKeysOf(request), signal);
      if (!isWrite(request.tool.spec)) return await execute();
      return await options.guardWrite({
        request,
        args,
        signal,
        execute,
        refuse: (outcome) => report(outcome, 1),
      });
    } catch (error) {
      // In line, so that nothing has begun.
      if (!(error instanceof BrokenOffError)) throw error;
      return await report({ ...brokenOff(error, times), effect: 'none' }, 1);
    } finally {
      leave();
      clock.stop();
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

/** What a call counts for. A part of another call has its pool's and its app's place already. */
function limitKeysOf({ app, tool, parentSignal }: CallRequest): string[] {
  const ofTool = `tool ${app} ${tool.metadata.name}`;
  return parentSignal ? [ofTool] : [`pool ${tool.spec.pool ?? 'default'}`, `app ${app}`, ofTool];
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
  const admitted = admitArguments(validator, request.tool, request.args);
  if ('args' in admitted) return { kind, args: admitted.args };
  const { code, message, suggestion } = admitted.failure;
  return { outcome: refusal(code, message, suggestion) };
}

type Prepared = Pick<
  KindCall,
  'args' | 'effectKey' | 'deadlineAtMs' | 'signal' | 'spool' | 'onLife' | 'answerTo' | 'askedAtMs' | 'callTool'
>;

function kindCall(request: CallRequest, prepared: Prepared): KindCall {
  const { app, tool, trace, maxChars, position } = request;
  const runId = position?.runId;
  return { app, tool, trace, maxChars, runId, ...prepared };
}

type ReportContext = { request: CallRequest; options: CallRunnerOptions; startedAtMs: number; attempt: number };

async function reportOf(outcome: Outcome, { request, options, startedAtMs, attempt }: ReportContext): Promise<Report> {
  const { spec } = request.tool;
  const size = outcome.kind === 'result' ? outcome.data.length : 0;
  const rendering = { spec, maxChars: request.maxChars };
  const { observation, whole } = await options.heavy.run('observationOf', size, outcome, rendering);
  const ref = whole === undefined ? observation.ref : await store(whole, request, options.results);
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
  const spool = spoolOf(request, results);
  return (await spool?.put({ format: 'json' }, bytesOf(whole)).catch(() => null)) ?? null;
}

/** Results are kept by the call that the run made; what is tried, or is a part of another call, keeps none. */
function spoolOf({ app, position }: CallRequest, results: ResultStore): Spool | undefined {
  return position && position.within === undefined ? createSpool(results, { app, ...position }) : undefined;
}

function askRunLog({ app, position }: CallRequest, runLog: RunLog): Pick<KindCall, 'answerTo' | 'askedAtMs'> {
  if (!position) return { answerTo: undefined, askedAtMs: undefined };
  const { runId, m } = position;
  return {
    answerTo: async (question) => await runLog.answerTo(app, runId, question),
    askedAtMs: async () => await runLog.askedAtMs(app, runId, m),
  };
}
