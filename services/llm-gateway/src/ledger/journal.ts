/**
 * Charges that Postgres could not take: they wait in a JetStream work queue, where the whole service looks after them, and are
 * settled once it is back (I3). Settling is idempotent, so a charge that is delivered twice counts once.
 */
import { AckPolicy, type Consumer, type JsMsg } from '@nats-io/jetstream';
import type { Bus } from '@pawl/bus';
import { streams, streamSubjects, UnavailableError } from '@pawl/contracts';
import type { Log, Part } from '@pawl/service';
import { z } from 'zod';
import type { BudgetStore, Settlement } from '../budget/store.ts';
import type { LedgerEntry } from './entry.ts';

const stream = streams.charges;
const subject = streamSubjects[stream];
const consumerName = 'settle';
const ackWaitNs = 30_000_000_000;
const batchMax = 20;
const fetchExpiresMs = 5_000;
const retryMs = 500;
const appendWithinMs = 5_000;

export type Journal = Part & {
  /** Keeps a settlement for later. Throws when it could not be kept: NATS is away, too, or it is too large for a message. */
  append(settlement: Settlement): Promise<void>;
};

const chargedLevelSchema = z.object({
  key: z.string(),
  fromMs: z.number(),
  taken: z.string(),
  covered: z.string().optional(),
});
const entrySchema = z.object({
  owner: z.string(),
  runId: z.string(),
  m: z.number(),
  levels: z.array(chargedLevelSchema),
  entry: z.custom<LedgerEntry>().optional(),
  thought: z.string().optional(),
});

export type JournalOptions = { bus: Bus; store: BudgetStore; owner: string; log: Log };

export function createJournal(options: JournalOptions): Journal {
  const { bus, log } = options;
  let isStopped = false;
  let current: { stop(): void } | undefined;
  let running: Promise<void> = Promise.resolve();
  const stopped = Promise.withResolvers<void>();

  const run = async () => {
    let consumer: Consumer | undefined;
    while (!isStopped && !bus.connection.isClosed()) {
      try {
        consumer ??= await connectConsumer(options);
        const messages = await consumer.fetch({ max_messages: batchMax, expires: fetchExpiresMs });
        current = messages;
        if (isStopped) messages.stop();
        for await (const message of messages) await settle(options, message);
      } catch (error) {
        consumer = undefined;
        if (isStopped || bus.connection.isClosed()) return;
        log.error({ err: error }, 'kept charges could not be settled');
        await Promise.race([wait(retryMs), stopped.promise]);
      }
    }
  };
  return {
    name: 'journal',
    async start() {
      running = run();
    },
    async stop() {
      isStopped = true;
      current?.stop();
      stopped.resolve();
      await running;
    },
    async append(settlement) {
      const payload = JSON.stringify(recordOf(options.owner, settlement));
      await bus.js.publish(subject, payload, { timeout: appendWithinMs, retries: 2 });
    },
  };
}

/** Acknowledged once it is in the books; what can never be settled is taken out of the queue and shown in the log. */
async function settle({ store, log }: JournalOptions, message: JsMsg): Promise<void> {
  const parsed = entrySchema.safeParse(parse(message.string()));
  if (!parsed.success) {
    log.error({ sequence: message.seq }, 'a kept charge could not be read');
    message.term('unreadable');
    return;
  }
  const { owner, runId, m, levels, entry, thought } = parsed.data;
  try {
    await store.charge({
      owner,
      call: { runId, m },
      levels: levels.map(({ key, fromMs }) => ({ key, window: { fromMs } })),
      taken: levels.map(({ taken }) => BigInt(taken)),
      covered: levels.some(({ covered }) => covered !== undefined)
        ? levels.map(({ covered = '0' }) => BigInt(covered))
        : undefined,
      isLineKept: true,
      entry,
      thought,
    });
    message.ack();
  } catch (error) {
    if (!(error instanceof UnavailableError)) log.error({ err: error, runId, m }, 'a kept charge was refused');
    message.nak(error instanceof UnavailableError ? retryMs : ackWaitNs / 1_000_000);
  }
}

function recordOf(
  owner: string,
  { call, levels, taken, covered, entry, thought }: Settlement,
): z.infer<typeof entrySchema> {
  return {
    owner,
    runId: call.runId,
    m: call.m,
    levels: levels.map(({ key, window }, position) => ({
      key,
      fromMs: window.fromMs,
      taken: String(taken[position] ?? 0n),
      ...(covered ? { covered: String(covered[position] ?? 0n) } : {}),
    })),
    ...(entry ? { entry } : {}),
    ...(thought === undefined ? {} : { thought }),
  };
}

async function connectConsumer({ bus }: JournalOptions): Promise<Consumer> {
  await bus.jsm.consumers.add(stream, {
    durable_name: consumerName,
    ack_policy: AckPolicy.Explicit,
    ack_wait: ackWaitNs,
  });
  return await bus.js.consumers.get(stream, consumerName);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function wait(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
