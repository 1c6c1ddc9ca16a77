/**
 * One durable consumer, pulled for as long as wanted: the work of one app in one queue. It asks for no more than is wanted, and
 * again before that is used up, so that work never waits for a pull to begin. It waits while enough is waiting here, heals when
 * the consumer or the connection was lost, and knows nothing of handlers.
 */
import { AckPolicy, type Consumer, type ConsumerMessages, type JsMsg } from '@nats-io/jetstream';
import { nanos, type Subscription } from '@nats-io/nats-core';
import type { Bus } from './connect.ts';
import { pause } from './failures.ts';

/** A dead worker's work is handed out again after this. */
const ackWaitMs = 8_000;
const fetchExpiresMs = 30_000;
const heartbeatMs = 3_000;
const retryMs = 250;
/** The next pull begins when this share of what is wanted is still to come, so that nothing waits for it. */
const askAgainAt = 0.25;
const drainWithinMs = 1_000;

export type WorkSourceOptions = {
  stream: string;
  /** Name of the durable consumer; the same in every replica. */
  name: string;
  filter: string;
  /** Messages to ask for now, 0 to wait for `wake`. */
  demand(): number;
  onMessage(message: JsMsg): void;
  onError(error: unknown): void;
};

export type WorkSource = {
  /** Looks at the demand again. */
  wake(): void;
  /** Asks for no more; what was on its way still arrives and is to be given back. */
  stop(): void;
  /** Resolves when nothing arrives any more after `stop`, within a second. */
  done: Promise<void>;
};

export function openWorkSource(bus: Bus, options: WorkSourceOptions): WorkSource {
  const stopped = Promise.withResolvers<void>();
  const pulls = new Set<ConsumerMessages>();
  let isStopped = false;
  let consumer: Promise<Consumer> | undefined;
  let woken = Promise.withResolvers<void>();
  /** Messages that were asked for and have not come. */
  let asked = 0;

  const pull = async (batch: number) => {
    let left = batch;
    asked += batch;
    let messages: ConsumerMessages | undefined;
    try {
      const from = await (consumer ??= ensureConsumer(bus, options));
      messages = await from.fetch({ max_messages: batch, expires: fetchExpiresMs, idle_heartbeat: heartbeatMs });
      pulls.add(messages);
      if (isStopped) drain(bus, messages);
      for await (const message of messages) {
        left -= 1;
        asked -= 1;
        options.onMessage(message);
      }
    } finally {
      asked -= left;
      if (messages) pulls.delete(messages);
    }
  };

  /** What to ask for now: nothing while there is enough to come. */
  const batchOf = (demand: number) => (asked > demand * askAgainAt ? 0 : demand - asked);

  const run = async () => {
    while (!isStopped && !bus.connection.isClosed()) {
      try {
        const batch = batchOf(options.demand());
        if (batch > 0) await pull(batch);
        else await woken.promise;
      } catch (error) {
        consumer = undefined;
        if (isStopped || bus.connection.isClosed()) return;
        options.onError(error);
        await Promise.race([pause(retryMs), stopped.promise]);
      }
    }
  };
  const forgetReconnect = bus.onReconnect(() => pulls.forEach((messages) => messages.stop()));

  // Two, so that one can ask again before what the other has asked for is used up.
  const ended = Promise.all([run(), run()]).then(() => undefined);
  const wake = () => {
    woken.resolve();
    woken = Promise.withResolvers();
  };
  return {
    wake,
    done: Promise.race([ended, stopped.promise.then(() => pause(drainWithinMs))]),
    stop() {
      isStopped = true;
      forgetReconnect();
      stopped.resolve();
      wake();
      pulls.forEach((messages) => drain(bus, messages));
    },
  };
}

/**
 * Ends a fetch such that what the server had sent before it knew still arrives; otherwise nobody would have it until its
 * deadline. The client offers this on the subscription only, which is no part of its public type.
 */
function drain(bus: Bus, messages: ConsumerMessages): void {
  const { sub } = messages as ConsumerMessages & { sub?: Subscription };
  if (!sub || sub.isClosed() || !bus.isConnected()) messages.stop();
  else void sub.drain().catch(() => messages.stop());
}

/** Makes the durable consumer, where it is missing. */
export async function ensureConsumer(
  bus: Bus,
  options: { stream: string; name: string; filter: string },
): Promise<Consumer> {
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
