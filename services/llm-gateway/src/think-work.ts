/**
 * Subscription: think work of every app, from both lanes. Each piece becomes one thought fact; acknowledged once the fact is in
 * the run's log. A run that is cancelled or ends lets go of its model call at once.
 */
import {
  consumeWork,
  publishDelta,
  publishFact,
  subscribeStops,
  type AppSource,
  type Bus,
  type WorkContext,
  type WorkQueue,
} from '@pawl/bus';
import { lanes, RejectedError, UnavailableError, type Thought, type ThinkWork } from '@pawl/contracts';
import type { Part } from '@pawl/service';
import { thoughtSpanId, withTrace } from '@pawl/telemetry';
import type { Stop } from './providers/call-clock.ts';
import { recordChatSpan } from './think/chat-span.ts';
import { think, type ThinkDeps } from './think/think.ts';
import { deniedThought } from './think/thought-fact.ts';

export type ThinkWorkOptions = ThinkDeps & {
  bus: Bus;
  apps: AppSource;
  /** Model calls under way at once. */
  concurrency: number;
  /** How long calls under way may go on once the service stops. */
  drainMs: number;
};

export function createThinkWork(options: ThinkWorkOptions): Part {
  const { bus, apps, concurrency, drainMs, log } = options;
  const underWay = new Set<{ work: ThinkWork; abort: AbortController }>();
  let queue: WorkQueue | undefined;
  let unsubscribe = () => {};

  const handle = async (work: ThinkWork, context: WorkContext) => {
    const call = { work, abort: new AbortController() };
    underWay.add(call);
    try {
      await answer(options, { work, context, abort: call.abort });
    } finally {
      underWay.delete(call);
    }
  };
  const stopCalls = (reason: Stop, isMeant: (work: ThinkWork) => boolean) => {
    for (const { work, abort } of underWay) if (isMeant(work)) abort.abort(reason);
  };

  return {
    name: 'think-work',
    async start() {
      unsubscribe = subscribeStops(bus, (run) =>
        stopCalls({ kind: 'run-stopped' }, (work) => work.runId === run.runId && work.app === run.app),
      );
      queue = await consumeWork(bus, {
        kind: 'think',
        queues: [...lanes],
        apps,
        concurrency,
        handle,
        onError: (error, about) => log.error({ err: error, ...about }, 'think work was not done'),
      });
    },
    async stop() {
      const deadline = setTimeout(() => stopCalls({ kind: 'shutdown' }, () => true), drainMs);
      await queue?.stop();
      clearTimeout(deadline);
      unsubscribe();
    },
  };
}

type Answering = { work: ThinkWork; context: WorkContext; abort: AbortController };

async function answer(options: ThinkWorkOptions, answering: Answering): Promise<void> {
  const { work, context } = answering;
  const { traceId, isSampled } = context.trace;
  const ofThought = { traceId, spanId: thoughtSpanId(work.runId, work.m), isSampled };
  const thought = await withTrace(ofThought, () => thinkSafely(options, answering));
  // Refused means that the slot holds this thought already.
  await publishFact(options.bus, thought, ofThought);
  recordChatSpan(thought, ofThought);
}

/** A mistake of our own becomes a failed thought: asking again would only spend again. */
async function thinkSafely(options: ThinkWorkOptions, { work, context, abort }: Answering): Promise<Thought> {
  const startedAtMs = Date.now();
  const { trace, deliveries } = context;
  const onText = together((text) => publishDelta(options.bus, work, { v: 1, kind: 'delta', m: work.m, text }));
  try {
    const isFresh = deliveries === 1;
    const breakOff = (reason: Stop) => abort.abort(reason);
    return await think(options, { work, traceId: trace.traceId, isFresh, signal: abort.signal, breakOff, onText });
  } catch (error) {
    if (error instanceof UnavailableError || error instanceof RejectedError) throw error;
    options.log.error({ err: error, runId: work.runId, m: work.m }, 'the gateway met a mistake of its own');
    return await settleMistake(options, deniedThought(work, ownMistake, { startedAtMs, endedAtMs: Date.now() }));
  }
}

/** Pieces that come at once are told at once. */
function together(tell: (text: string) => void): (text: string) => void {
  let waiting = '';
  return (text) => {
    if (waiting === '') {
      setImmediate(() => {
        tell(waiting);
        waiting = '';
      });
    }
    waiting += text;
  };
}

const ownMistake = {
  code: 'internal_error',
  message: 'The gateway met a mistake of its own; its log has the details.',
} as const;

/** Keeps the failed thought and gives a hold back, where that still works; a hold that stays lapses with this process. */
async function settleMistake({ store, log }: ThinkWorkOptions, thought: Thought): Promise<Thought> {
  const settlement = { call: thought, levels: [], taken: [], entry: undefined, thought: JSON.stringify(thought) };
  await store
    .charge(settlement)
    .catch((error: unknown) =>
      log.error({ err: error, runId: thought.runId, m: thought.m }, 'a mistake could not be settled'),
    );
  return thought;
}
