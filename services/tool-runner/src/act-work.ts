/**
 * Subscription: act work of this runner's pools → exactly one `observed` fact per call.
 * The tool is the pinned one (I7). A slot that is taken means that somebody else has reported: that is fine.
 */
import {
  consumeWork,
  publishFact,
  type AppSource,
  type Bus,
  type Definitions,
  type WorkContext,
  type WorkQueue,
} from '@pawl/bus';
import { failedObservation, fingerprintJson, isJson, type ActWork } from '@pawl/contracts';
import type { Log, Part } from '@pawl/service';
import { callSpanId, runSpanId, type TraceContext } from '@pawl/telemetry';
import type { CallMetrics } from './call-metrics.ts';
import { recordCallSpan } from './call-span.ts';
import type { Report } from './effects/report.ts';
import type { CallRunner } from './run-call.ts';

export type ActWorkOptions = {
  bus: Bus;
  apps: AppSource;
  definitions: Definitions;
  runCall: CallRunner;
  metrics: CallMetrics;
  log: Log;
  pools: string[];
  /** Calls under way at once. */
  concurrency: number;
  now: () => number;
};

/** The subscription as a part of the service. Stopping waits for the calls that are under way. */
export function createActWorkPart(options: ActWorkOptions): Part {
  let queue: WorkQueue | undefined;
  const handle = createActWorkHandler(options);
  return {
    name: 'act-work',
    async start() {
      queue = await consumeWork(options.bus, {
        kind: 'act',
        queues: options.pools,
        apps: options.apps,
        concurrency: options.concurrency,
        handle,
        onError: (error, about) => options.log.warn({ err: error, ...about }, 'act work failed'),
      });
    },
    stop: async () => await queue?.stop(),
  };
}

/** What is done with one piece of act work. Called again for the same work, it joins the call that is under way. */
export function createActWorkHandler(options: ActWorkOptions): (work: ActWork, context: WorkContext) => Promise<void> {
  const underWay = new Map<string, Promise<Report>>();

  const reportOf = (work: ActWork, trace: TraceContext): Promise<Report> => {
    const key = `${work.runId}.${work.m}.${work.i}`;
    const joined = underWay.get(key);
    if (joined) return joined;
    const report = runWork(work, trace, options).finally(() => underWay.delete(key));
    underWay.set(key, report);
    return report;
  };

  return async (work, context) => {
    const { runId, app, m, i, callId, tool } = work;
    const trace = { ...context.trace, spanId: callSpanId(runId, m, i) };
    const report = await reportOf(work, trace);
    const fact = {
      v: 1,
      kind: 'observed',
      runId,
      app,
      m,
      i,
      callId,
      tool,
      at: new Date(options.now()).toISOString(),
      ...report,
    } as const;
    const { outcome } = await publishFact(options.bus, fact, trace);
    // One span per call: told by whoever's fact was written.
    if (outcome !== 'written') return;
    options.metrics.observe({ status: report.observation.status, durationMs: report.durationMs });
    recordCallSpan({ app, tool, run: { runId, callId }, report, trace, parentSpanId: runSpanId(runId) });
  };
}

async function runWork(work: ActWork, trace: TraceContext, options: ActWorkOptions): Promise<Report> {
  const definition = await options.definitions.get(work.definition);
  const pinned = definition.tools.find(({ object }) => object.metadata.name === work.tool);
  if (!pinned || pinned.revision !== work.toolRevision) {
    return refusedReport(options, 'unknown_tool', `There is no tool ${work.tool} in this run.`);
  }
  // I11: what executes is what was admitted.
  if (isJson(work.args) && fingerprintJson(work.args) !== work.argsHash) {
    return refusedReport(options, 'conflict', 'The arguments are not those that were admitted.');
  }
  const { app, args, maxChars, runId, m, i, step, callId, user } = work;
  return await options.runCall({
    app,
    tool: pinned.object,
    args,
    maxChars,
    deadlineAtMs: Date.parse(work.deadlineAt),
    position: { runId, m, i, step },
    callId,
    ...(user ? { user } : {}),
    pinned: { agent: definition.agent.object, tools: definition.tools.map(({ object }) => object) },
    trace,
  });
}

function refusedReport(options: ActWorkOptions, code: 'unknown_tool' | 'conflict', message: string): Report {
  const observation = failedObservation('error', {
    code,
    message,
    suggestion: 'Use one of the tools that are offered.',
  });
  return {
    observation,
    trust: 'untrusted',
    attempt: 1,
    startedAt: new Date(options.now()).toISOString(),
    durationMs: 0,
  };
}
