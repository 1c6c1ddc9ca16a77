/**
 * One durable consumer, pulled for as long as wanted: the work of one app in one queue. It waits while enough is waiting
 * here, heals when the consumer or the connection was lost, and knows nothing of handlers.
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
  let isStopped = false;
  let current: ConsumerMessages | undefined;
  let woken = Promise.withResolvers<void>();

  const fetchBatch = async (consumer: Consumer, batch: number) => {
    const messages = await consumer.fetch({
      max_messages: batch,
      expires: fetchExpiresMs,
      idle_heartbeat: heartbeatMs,
    });
    current = messages;
    if (isStopped) drain(bus, messages);
    for await (const message of messages) options.onMessage(message);
    current = undefined;
  };

  const run = async () => {
    let consumer: Consumer | undefined;
    while (!isStopped && !bus.connection.isClosed()) {
      try {
        consumer ??= await ensureConsumer(bus, options);
        const demand = options.demand();
        if (demand > 0) await fetchBatch(consumer, demand);
        else await Promise.race([woken.promise, stopped.promise]);
        woken = Promise.withResolvers();
      } catch (error) {
        consumer = undefined;
        if (isStopped || bus.connection.isClosed()) return;
        options.onError(error);
        await Promise.race([pause(retryMs), stopped.promise]);
      }
    }
  };
  const forgetReconnect = bus.onReconnect(() => current?.stop());

  return {
    wake: () => woken.resolve(),
    done: Promise.race([run(), stopped.promise.then(() => pause(drainWithinMs))]),
    stop() {
      isStopped = true;
      forgetReconnect();
      stopped.resolve();
      if (current) drain(bus, current);
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
