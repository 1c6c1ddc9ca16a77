/** Reading the run log: in order, from the start, without gaps. */
import { DeliverPolicy, type ConsumerMessages, type JsMsg } from '@nats-io/jetstream';
import { factSchema, parseFactSubject, streams, subjects, type Fact } from '@pawl/contracts';
import type { TraceContext } from '@pawl/telemetry';
import type { Bus } from './connect.ts';
import { decodeMessage, traceOf } from './message.ts';

export type ReceivedFact = {
  fact: Fact;
  /** Position in the stream; grows with every fact of every run. */
  sequence: number;
  subject: string;
  slot: string;
  partition: number;
  /** The span that this fact records, or hangs under. */
  trace: TraceContext;
};

export type Following = { stop(): Promise<void> };

export type FollowOptions = {
  /** Subject with wildcards, for example `subjects.factsOfPartition(3)`. */
  filter: string;
  /** First position to read. Default: the start of the log. */
  startSequence?: number;
  /** Called for one fact after the other. */
  onFact(received: ReceivedFact): void | Promise<void>;
  /** Called once, when all is read that was there when the following began. */
  onCaughtUp?(): void;
  /** Called for a message that is no fact. It is passed over. */
  onUnreadable?(unreadable: { subject: string; sequence: number; reason: string }): void;
};

/**
 * Follows facts until stopped. After a lost connection or a deleted consumer it goes on where it was;
 * a fact is never skipped or seen twice.
 */
export async function followFacts(bus: Bus, options: FollowOptions): Promise<Following> {
  const last = await lastSequence(bus, options.filter);
  const start = options.startSequence ?? 1;
  const consumer = await bus.js.consumers.get(streams.runs, {
    filter_subjects: options.filter,
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: start,
  });
  const messages = await consumer.consume({ max_messages: 500 });
  let isCaughtUp = false;
  const reachSequence = (sequence: number) => {
    if (isCaughtUp || sequence < last) return;
    isCaughtUp = true;
    options.onCaughtUp?.();
  };
  if (last < start) reachSequence(last);
  const done = readAll(bus, messages, { ...options, reachSequence });
  return {
    async stop() {
      await messages.close();
      await done;
      await consumer.delete().catch(() => false);
    },
  };
}

/** All facts of a run, in order. Empty when there is no such run. */
export async function readFacts(bus: Bus, app: string, runId: string): Promise<ReceivedFact[]> {
  const facts: ReceivedFact[] = [];
  const caughtUp = Promise.withResolvers<void>();
  const following = await followFacts(bus, {
    filter: subjects.factsOfRun(app, runId),
    onFact: (received) => void facts.push(received),
    onCaughtUp: caughtUp.resolve,
  });
  await caughtUp.promise;
  void following.stop();
  return facts;
}

type ReadOptions = FollowOptions & { reachSequence(sequence: number): void };

async function readAll(bus: Bus, messages: ConsumerMessages, options: ReadOptions): Promise<void> {
  for await (const message of messages) {
    const received = await receive(bus, message, options);
    if (received) await options.onFact(received);
    options.reachSequence(message.seq);
  }
}

async function receive(bus: Bus, message: JsMsg, options: ReadOptions): Promise<ReceivedFact | undefined> {
  const address = parseFactSubject(message.subject);
  try {
    const fact = factSchema.parse(await decodeMessage(bus, message));
    if (!address) throw new TypeError('the subject is not that of a fact');
    return {
      fact,
      sequence: message.seq,
      subject: message.subject,
      slot: address.slot,
      partition: address.partition,
      trace: traceOf(message),
    };
  } catch (error) {
    const reason = error instanceof Error ? error.name : 'unknown';
    options.onUnreadable?.({ subject: message.subject, sequence: message.seq, reason });
    return undefined;
  }
}

async function lastSequence(bus: Bus, filter: string): Promise<number> {
  const last = await bus.jsm.streams.getMessage(streams.runs, { last_by_subj: filter });
  return last?.seq ?? 0;
}
