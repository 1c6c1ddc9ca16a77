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
import { openWorkSource, type WorkSource } from './work-source.ts';

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

/** Work that was delivered here and is neither done nor given back. */
type Held = { message: JsMsg; arrivedAtMs: number; isRunning: boolean };
type Lane = { waiting: Held[]; source: WorkSource };

/** Drains the queues of every app, present and future, until stopped. */
export async function consumeWork<K extends Work['kind']>(bus: Bus, options: WorkQueueOptions<K>): Promise<WorkQueue> {
  const lanes = new Map<string, Lane>();
  const held = new Map<number, Held>();
  const running = new Set<Promise<void>>();
  let isStopped = false;
  let turn = 0;

  const room = () => options.concurrency - running.size;
  const nextHeld = (): Held | undefined => {
    const all = [...lanes.values()];
    for (let offset = 0; offset < all.length; offset += 1) {
      const found = all[(turn + offset) % all.length]?.waiting.shift();
      if (!found) continue;
      turn = (turn + offset + 1) % all.length;
      return found;
    }
    return undefined;
  };
  const dispatch = () => {
    while (room() > 0 && !isStopped) {
      const next = nextHeld();
      if (!next) break;
      next.isRunning = true;
      const task = handleWork(bus, next, options).finally(() => {
        held.delete(next.message.seq);
        running.delete(task);
        dispatch();
      });
      running.add(task);
    }
    for (const { source } of lanes.values()) source.wake();
  };
  const receive = (waiting: Held[], message: JsMsg) => {
    if (isStopped) return message.nak();
    const known = held.get(message.seq);
    if (known) {
      known.message = message;
      return;
    }
    const arrived = { message, arrivedAtMs: performance.now(), isRunning: false };
    held.set(message.seq, arrived);
    waiting.push(arrived);
    dispatch();
  };
  const giveBack = (lane: Lane, isOverdue: (one: Held) => boolean) => {
    const overdue = lane.waiting.filter(isOverdue);
    lane.waiting = lane.waiting.filter((one) => !overdue.includes(one));
    for (const { message } of overdue) {
      held.delete(message.seq);
      message.nak();
    }
  };
  const openLane = (address: { name: string; queue: string; app: string }): Lane => {
    const demand = () => {
      const missing = Math.min(batchMax, Math.max(1, room())) - lane.waiting.length;
      return lane.waiting.length === 0 || room() > 0 ? Math.max(0, missing) : 0;
    };
    const source = openWorkSource(bus, {
      ...addressOf(options.kind, address),
      demand,
      onMessage: (message) => receive(lane.waiting, message),
      onError: (error) => options.onError?.(error, { subject: address.name, deliveries: 0 }),
    });
    const lane: Lane = { waiting: [], source };
    return lane;
  };
  const openLanes = () => {
    const wanted = options.queues.flatMap((queue) => options.apps.apps().map((app) => ({ queue, app })));
    for (const { queue, app } of isStopped ? [] : wanted) {
      const name = `${options.kind}-${queue}-${app}`;
      if (!lanes.has(name)) lanes.set(name, openLane({ name, queue, app }));
    }
  };
  const keepHolding = () => {
    const isOverdue = (one: Held) => performance.now() - one.arrivedAtMs > giveBackAfterMs;
    for (const lane of lanes.values()) giveBack(lane, isOverdue);
    for (const { message } of held.values()) message.working();
    for (const { source } of lanes.values()) source.wake();
  };

  const holding = setInterval(keepHolding, reportEveryMs);
  const unsubscribe = options.apps.onChange(openLanes);
  openLanes();

  return {
    async stop() {
      isStopped = true;
      unsubscribe();
      for (const lane of lanes.values()) {
        lane.source.stop();
        giveBack(lane, () => true);
      }
      await Promise.all([...running, ...[...lanes.values()].map(({ source }) => source.done)]);
      clearInterval(holding);
    },
  };
}

function addressOf(kind: Work['kind'], of: { name: string; queue: string; app: string }) {
  return kind === 'think'
    ? { stream: streams.think, name: of.name, filter: subjects.thinkOfApp(of.queue, of.app) }
    : { stream: streams.act, name: of.name, filter: subjects.actOfApp(of.queue, of.app) };
}
