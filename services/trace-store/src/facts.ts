/**
 * The subscription to the run log: every fact of every run into Postgres.
 *
 * 1. A message is acknowledged only after its row is committed. What is delivered again changes nothing.
 * 2. No message holds up another: what can't be kept is set aside, and its content is never logged.
 * 3. While Postgres or NATS is away it waits and says so (`isFollowing`). A consumer that was deleted is made again and
 *    reads the log from its start.
 */
import { AckPolicy, DeliverPolicy, type ConsumerConfig, type ConsumerMessages, type JsMsg } from '@nats-io/jetstream';
import { nanos } from '@nats-io/nats-core';
import { payloadOf, pulledMax, type Bus } from '@pawl/bus';
import { streams, UnavailableError } from '@pawl/contracts';
import type { Log, Part } from '@pawl/service';
import { batchesOf, workThrough, type BatchLimits } from './batches.ts';
import { readFactMessage, rejectMessage, type FactMessage } from './record/fact-message.ts';
import type { TraceRecord } from './record/record.ts';
import { storeMessages, type ReadMessage } from './store/store-messages.ts';
import type { TraceTables } from './store/trace-tables.ts';

export const consumerName = 'trace-store';

const consumerConfig: Partial<ConsumerConfig> & { durable_name: string } = {
  durable_name: consumerName,
  ack_policy: AckPolicy.Explicit,
  deliver_policy: DeliverPolicy.All,
  /** A batch takes milliseconds; what a dead replica held comes back after this. */
  ack_wait: nanos(15_000),
  max_ack_pending: 5_000,
  max_deliver: -1,
};

const limitsDefault: BatchLimits = { countMax: 1_000, bytesMax: 8_388_608, lingerMs: 20 };
/** Batches that are written at once: while Postgres commits one, the next is read and another is on its way. */
const writesAtOnceMax = 2;
const pullExpiresMs = 5_000;
const claimRetryMs = 2_000;
/** After this many deliveries a body that is not in the object store is taken for lost. */
const claimDeliveriesMax = 10;
/** Well below the acknowledgement deadline. */
const storePauseMs = { first: 100, max: 4_000 };
const restartPauseMs = 250;

export type FactSubscription = Part & {
  /** Whether facts flow: the consumer is there, and the last batch was stored. */
  isFollowing(): boolean;
};

/** How many facts are not stored yet. Rejects when JetStream doesn't answer. */
export async function countFactsBehind(bus: Bus): Promise<number> {
  const { num_pending: pending, num_ack_pending: underWay } = await bus.jsm.consumers.info(streams.runs, consumerName);
  return pending + underWay;
}

export type FactSubscriptionOptions = {
  bus: Bus;
  tables: TraceTables;
  log: Log;
  limits?: Partial<BatchLimits>;
  /** Told, after their commit, of the records that were new. */
  onStored?(records: readonly TraceRecord[]): void;
};

/** A message with what was read of it, still to be acknowledged. */
type Received = ReadMessage & { source: JsMsg };

export function createFactSubscription(options: FactSubscriptionOptions): FactSubscription {
  const stopping = new AbortController();
  let running: Promise<void> | undefined;
  let isFollowing = false;

  const session: Session = {
    ...options,
    limits: { ...limitsDefault, ...options.limits },
    signal: stopping.signal,
    onFollowing: () => (isFollowing = true),
    onTrouble(error) {
      isFollowing = false;
      options.log.warn({ reason: reasonOf(error) }, 'facts can not be stored, trying again');
    },
  };
  const run = async () => {
    while (!stopping.signal.aborted) {
      await follow(session).catch(session.onTrouble);
      await waitFor(restartPauseMs, stopping.signal);
    }
  };

  return {
    name: 'facts',
    isFollowing: () => isFollowing,
    async start() {
      running = run();
    },
    async stop() {
      stopping.abort();
      await running;
    },
  };
}

type Session = {
  bus: Bus;
  tables: TraceTables;
  limits: BatchLimits;
  signal: AbortSignal;
  onFollowing(): void;
  onStored?(records: readonly TraceRecord[]): void;
  onTrouble(error: unknown): void;
};

/** Stores what comes, until told to stop. Throws when the consumer is gone. */
async function follow(session: Session): Promise<void> {
  const { bus, limits, signal } = session;
  await ensureConsumer(bus);
  const consumer = await bus.js.consumers.get(streams.runs, consumerName);
  const messages = await consumer.consume({
    max_messages: pulledMax,
    expires: pullExpiresMs,
    abort_on_missing_resource: true,
  });
  const held = new Set<JsMsg>();
  const received = receive(session, messages, held);
  const stop = () => messages.stop();
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  session.onFollowing();
  try {
    await workThrough(batchesOf(received, { ...limits, sizeOf }), {
      atOnceMax: writesAtOnceMax,
      async work(batch) {
        await storePatiently(batch, session);
        for (const { source } of batch) acknowledge(source, held);
      },
    });
  } finally {
    signal.removeEventListener('abort', stop);
    stop();
    await giveBack(received, held);
  }
}

/** Stores a batch, waiting for Postgres as long as it takes; meanwhile its messages are not delivered to anyone else. */
async function storePatiently(batch: readonly Received[], session: Session): Promise<void> {
  for (let pauseMs = storePauseMs.first; ; pauseMs = Math.min(pauseMs * 2, storePauseMs.max)) {
    try {
      const added = await storeMessages(session.tables, batch);
      session.onFollowing();
      session.onStored?.(added);
      return;
    } catch (error) {
      session.onTrouble(error);
      if (session.signal.aborted) throw error;
    }
    for (const { source } of batch) source.working();
    await waitFor(pauseMs, session.signal);
  }
}

const sizeOf = ({ message }: Received) => message.data.byteLength;

function acknowledge(source: JsMsg, held: Set<JsMsg>): void {
  source.ack();
  held.delete(source);
}

/** Reads what is delivered; `held` is what was delivered and is not acknowledged yet. */
async function* receive(session: Session, messages: ConsumerMessages, held: Set<JsMsg>): AsyncGenerator<Received> {
  for await (const source of messages) {
    held.add(source);
    const read = await readMessage(session, source);
    if (read) yield { ...read, source };
    else held.delete(source);
  }
}

/** Hands back what was delivered and not stored, so that it need not wait for its deadline. */
async function giveBack(received: AsyncGenerator<Received>, held: Set<JsMsg>): Promise<void> {
  for (let isDone = false; !isDone;) {
    const next = await received.next().catch(() => ({ done: true }));
    isDone = next.done === true;
  }
  for (const source of held) source.nak();
}

/** Makes the consumer, or brings one that an older version made up to date. */
async function ensureConsumer(bus: Bus): Promise<void> {
  try {
    await bus.jsm.consumers.add(streams.runs, consumerConfig);
  } catch {
    await bus.jsm.consumers.update(streams.runs, consumerName, consumerConfig);
  }
}

/** Reads a message with its claim; undefined when the claim can't be fetched now: it is delivered again later. */
async function readMessage({ bus, tables }: Session, source: JsMsg): Promise<ReadMessage | undefined> {
  const bare: FactMessage = {
    subject: source.subject,
    sequence: source.seq,
    data: source.data,
    traceparent: source.headers?.get('traceparent'),
  };
  try {
    const message = { ...bare, data: await payloadOf(bus, source) };
    return { message, reading: readFactMessage(message, tables.policy.rulesOf) };
  } catch (error) {
    if (error instanceof UnavailableError && source.info.deliveryCount >= claimDeliveriesMax) {
      return { message: bare, reading: { rejected: rejectMessage(bare, 'claim_missing') } };
    }
    source.nak(claimRetryMs);
    return undefined;
  }
}

function waitFor(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(resolve, delayMs);
    signal.addEventListener('abort', () => resolve(clearTimeout(timer)), { once: true });
  });
}

/** What went wrong, without any content: the class of the error, and its code. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return 'code' in error ? `${error.name} ${String(error.code)}` : error.name;
}
