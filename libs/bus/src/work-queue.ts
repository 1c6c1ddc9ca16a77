/**
 * Taking work from a queue.
 *
 * 1. One durable consumer per app and queue, served in turn, so one app's flood doesn't delay another's work (I6).
 * 2. What is held is reported as under way every 2 s, so slow work is never handed out twice; a dead worker's work is
 *    handed out again after 8 s (I5). Work that comes again to the worker that is busy with it is not begun again.
 * 3. A busy worker holds at most one piece per app and queue that it can't begin, and that not for long.
 */
import type { JsMsg } from '@nats-io/jetstream';
import { streams, subjects, type Work } from '@pawl/contracts';
import type { TraceContext } from '@pawl/telemetry';
import type { Bus } from './connect.ts';
import { handleWork } from './handle-work.ts';
import { createWaitingRoom } from './waiting-room.ts';
import { ensureConsumer, openWorkSource, type WorkSource } from './work-source.ts';

const reportEveryMs = 2_000;
const giveBackAfterMs = 1_000;
const batchMax = 16;

/** Where the names of apps come from. */
export type AppSource = { apps(): string[]; onChange(listener: () => void): () => void };

export type WorkContext = {
  trace: TraceContext;
  /** 1 for the first delivery; more doesn't mean that anybody began with it. */
  deliveries: number;
};

export type WorkQueueOptions<K extends Work['kind']> = {
  kind: K;
  /** Lanes of think work or pools of act work. */
  queues: string[];
  apps: AppSource;
  /** Pieces of work under way at once, over all apps. */
  concurrency: number;
  /**
   * Does the work, and may be called again for the same work after a crash. Resolved: acknowledged.
   * `RejectedError`: dropped for good. Any other error: delivered again after a second.
   */
  handle(work: Extract<Work, { kind: K }>, context: WorkContext): Promise<void>;
  onError?(error: unknown, about: { subject: string; deliveries: number }): void;
};

export type WorkQueue = {
  /** Takes no more work and waits for what is under way. What was not begun goes back at once. */
  stop(): Promise<void>;
};

/** Drains the queues of every app, present and future, until stopped. */
export async function consumeWork<K extends Work['kind']>(bus: Bus, options: WorkQueueOptions<K>): Promise<WorkQueue> {
  const sources = new Map<string, WorkSource>();
  // Not by its position: a server that lost its messages gives those of the old ones to others.
  const room = createWaitingRoom<JsMsg>(({ subject }) => subject);
  const running = new Set<Promise<void>>();
  let isStopped = false;

  const free = () => options.concurrency - running.size;
  const dispatch = () => {
    while (free() > 0 && !isStopped) {
      const next = room.next();
      if (!next) break;
      const task = handleWork(bus, next, options).finally(() => {
        room.remove(next);
        running.delete(task);
        dispatch();
      });
      running.add(task);
    }
    for (const source of sources.values()) source.wake();
  };
  const openSources = () => {
    const wanted = options.queues.flatMap((queue) => options.apps.apps().map((app) => ({ queue, app })));
    for (const { queue, app } of isStopped ? [] : wanted) {
      const address = addressOf(options.kind, { queue, app });
      const { name: lane } = address;
      if (sources.has(lane)) continue;
      const source = openWorkSource(bus, {
        ...address,
        demand: () => demandOf({ waiting: room.waitingIn(lane), free: free() }),
        onMessage(message) {
          if (isStopped) message.nak();
          else if (room.add(message, { lane, nowMs: performance.now() })) dispatch();
        },
        onError: (error) => options.onError?.(error, { subject: lane, deliveries: 0 }),
      });
      sources.set(lane, source);
    }
  };
  const giveBack = (arrivedBeforeMs: number) => room.takeWaiting(arrivedBeforeMs).forEach(({ work }) => work.nak());
  const holding = setInterval(() => {
    giveBack(performance.now() - giveBackAfterMs);
    for (const { work } of room.held()) work.working();
    for (const source of sources.values()) source.wake();
  }, reportEveryMs);
  const unsubscribe = options.apps.onChange(openSources);
  openSources();

  return {
    async stop() {
      isStopped = true;
      unsubscribe();
      for (const source of sources.values()) source.stop();
      giveBack(Infinity);
      await Promise.all([...running, ...[...sources.values()].map(({ done }) => done)]);
      clearInterval(holding);
    },
  };
}

/** How much to ask for: what can be begun, and one to be ready when something gets free, so that every app has its turn. */
function demandOf({ waiting, free }: { waiting: number; free: number }): number {
  return Math.max(0, Math.min(batchMax, Math.max(1, free)) - waiting);
}

/** Makes the consumer of an app's queue before any worker does, so that what watches its length finds it. */
export async function ensureWorkQueue(
  bus: Bus,
  kind: Work['kind'],
  of: { queue: string; app: string },
): Promise<string> {
  const address = addressOf(kind, of);
  await ensureConsumer(bus, address);
  return address.name;
}

function addressOf(kind: Work['kind'], of: { queue: string; app: string }) {
  const name = `${kind}-${of.queue}-${of.app}`;
  return kind === 'think'
    ? { stream: streams.think, name, filter: subjects.thinkOfApp(of.queue, of.app) }
    : { stream: streams.act, name, filter: subjects.actOfApp(of.queue, of.app) };
}
