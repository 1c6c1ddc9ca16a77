/**
 * Taking work from a queue. One durable consumer per app and queue, drained in turn, so that one app's flood
 * doesn't delay another's work (I6). What is held is reported as under way every 2 s, so slow work is never handed out
 * twice, and a dead worker's work is handed out again after 8 s (I5).
 */
import { AckPolicy, type Consumer, type JsMsg } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import { RejectedError, streams, subjects, workSchema, type Work } from '@pawl/contracts';
import { newSpanId, recordSpan, type TraceContext } from '@pawl/telemetry';
import type { Bus } from './connect.ts';
import { decodeMessage, traceOf } from './message.ts';

const ackWaitMs = 8_000;
const reportEveryMs = 2_000;
const fetchExpiresMs = 30_000;
const redeliverAfterMs = 1_000;

/** Where the names of apps come from. */
export type AppSource = { apps(): string[]; onChange(listener: () => void): () => void };

export type WorkContext = {
  trace: TraceContext;
  /** 1 for the first delivery. */
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

type Source = { waiting: JsMsg[]; stop(): void; done: Promise<void> };

/** Drains the queues of every app, present and future, until stopped. */
export async function consumeWork<K extends Work['kind']>(bus: Bus, options: WorkQueueOptions<K>): Promise<WorkQueue> {
  const sources = new Map<string, Source>();
  const held = new Set<JsMsg>();
  const running = new Set<Promise<void>>();
  let isStopped = false;
  let turn = 0;

  const nextMessage = (): JsMsg | undefined => {
    const all = [...sources.values()];
    for (let offset = 0; offset < all.length; offset += 1) {
      const source = all[(turn + offset) % all.length];
      const message = source?.waiting.shift();
      if (!message) continue;
      turn = (turn + offset + 1) % all.length;
      return message;
    }
    return undefined;
  };

  const dispatch = () => {
    while (running.size < options.concurrency && !isStopped) {
      const message = nextMessage();
      if (!message) return;
      const task = handleMessage(bus, message, options).finally(() => {
        held.delete(message);
        running.delete(task);
        dispatch();
      });
      running.add(task);
    }
  };

  const addSources = async () => {
    const wanted = options.queues.flatMap((queue) => options.apps.apps().map((app) => ({ queue, app })));
    await Promise.all(
      wanted.map(async ({ queue, app }) => {
        const name = `${options.kind}-${queue}-${app}`;
        if (sources.has(name) || isStopped) return;
        const source = openSource(bus, {
          ...consumerOf(options.kind, { name, queue, app }),
          batch: Math.min(16, options.concurrency),
          take: (message) => {
            held.add(message);
            source.waiting.push(message);
            dispatch();
          },
          onError: (error) => options.onError?.(error, { subject: name, deliveries: 0 }),
        });
        sources.set(name, source);
      }),
    );
  };

  const reporting = setInterval(() => held.forEach((message) => message.working()), reportEveryMs);
  const unsubscribe = options.apps.onChange(() => void addSources());
  await addSources();

  return {
    async stop() {
      isStopped = true;
      unsubscribe();
      for (const source of sources.values()) source.stop();
      for (const source of sources.values()) source.waiting.splice(0).forEach((message) => message.nak());
      await Promise.all([...running, ...[...sources.values()].map((source) => source.done)]);
      clearInterval(reporting);
    },
  };
}

type ConsumerAddress = { stream: string; name: string; filter: string };

function consumerOf(kind: Work['kind'], of: { name: string; queue: string; app: string }): ConsumerAddress {
  return kind === 'think'
    ? { stream: streams.think, name: of.name, filter: subjects.thinkOfApp(of.queue, of.app) }
    : { stream: streams.act, name: of.name, filter: subjects.actOfApp(of.queue, of.app) };
}

type SourceOptions = ConsumerAddress & {
  batch: number;
  take(message: JsMsg): void;
  onError(error: unknown): void;
};

function openSource(bus: Bus, options: SourceOptions): Source {
  let isStopped = false;
  let stopFetch = () => {};
  const waiting: JsMsg[] = [];

  const fetchBatch = async (consumer: Consumer) => {
    const messages = await consumer.fetch({ max_messages: options.batch, expires: fetchExpiresMs });
    stopFetch = () => void messages.close();
    if (isStopped) stopFetch();
    for await (const message of messages) {
      if (isStopped) message.nak();
      else options.take(message);
    }
  };

  const run = async () => {
    let consumer: Consumer | undefined;
    while (!isStopped && !bus.connection.isClosed()) {
      try {
        consumer ??= await ensureConsumer(bus, options);
        await fetchBatch(consumer);
        while (waiting.length >= options.batch && !isStopped) await pause(5);
      } catch (error) {
        consumer = undefined;
        if (isStopped || bus.connection.isClosed()) return;
        options.onError(error);
        await pause(250);
      }
    }
  };

  return {
    waiting,
    done: run(),
    stop() {
      isStopped = true;
      stopFetch();
    },
  };
}

async function ensureConsumer(bus: Bus, options: ConsumerAddress): Promise<Consumer> {
  await bus.jsm.consumers.add(options.stream, {
    durable_name: options.name,
    filter_subject: options.filter,
    ack_policy: AckPolicy.Explicit,
    ack_wait: nanos(ackWaitMs),
    max_deliver: -1,
    max_ack_pending: 10_000,
  });
  return await bus.js.consumers.get(options.stream, options.name);
}

async function handleMessage<K extends Work['kind']>(
  bus: Bus,
  message: JsMsg,
  options: WorkQueueOptions<K>,
): Promise<void> {
  const deliveries = message.info.deliveryCount;
  const startedAtMs = Date.now();
  const trace = traceOf(message);
  try {
    const parsed = workSchema.safeParse(await decodeMessage(bus, message));
    if (!parsed.success || parsed.data.kind !== options.kind) {
      throw new RejectedError('invalid_request', 'the message is not the work that this queue holds');
    }
    await options.handle(parsed.data as Extract<Work, { kind: K }>, { trace, deliveries });
    message.ack();
  } catch (error) {
    options.onError?.(error, { subject: message.subject, deliveries });
    if (error instanceof RejectedError) message.term();
    else message.nak(redeliverAfterMs);
  } finally {
    recordProcess({ kind: options.kind, trace, startedAtMs });
  }
}

function recordProcess(done: { kind: Work['kind']; trace: TraceContext; startedAtMs: number }): void {
  const { traceId, spanId, isSampled } = done.trace;
  recordSpan({
    name: `process pawl.${done.kind}`,
    kind: 'consumer',
    trace: { traceId, spanId: newSpanId(), parentSpanId: spanId, isSampled },
    startedAtMs: done.startedAtMs,
    endedAtMs: Date.now(),
    attributes: {
      'messaging.system': 'nats',
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.template': `pawl.${done.kind}`,
    },
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
