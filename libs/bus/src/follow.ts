/** Reading the run log: facts in order, from the start, without gaps. */
import type { JsMsg } from '@nats-io/jetstream';
import { factSchema, parseFactSubject, streams, subjects, UnavailableError, type Fact } from '@pawl/contracts';
import type { TraceContext } from '@pawl/telemetry';
import type { Bus } from './connect.ts';
import { factSubject } from './fact-subject.ts';
import { isTransient, orUnavailable, pause } from './failures.ts';
import { decodeMessage, traceOf } from './message.ts';
import { readInOrder, type Beginning, type ReadingOptions } from './read-in-order.ts';

const readWithinMs = 15_000;
/** What may be said about a run while its first fact is on its way. */
const earlierBySequences = 1_000;
/** A first fact that is written again, after the log has lost it or before it was ever there, is as much later than it says. */
const lateAfterMs = 5_000;
const earlierByMs = 600_000;
/** A body that is not in the object store after this many tries is taken for lost. */
const claimTriesMax = 20;
const claimRetryMs = 250;

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

export type Following = {
  /** Takes no more facts; resolves when the one that is being dealt with is done. */
  stop(): Promise<void>;
};

export type FollowOptions = {
  /** Subject with wildcards, for example `subjects.factsOfPartition(3)`. */
  filter: string;
  /** First position to read. Default: the start of the log. */
  startSequence?: number;
  /** Called for one fact after the other. What it throws is a bug and ends the following as an unhandled rejection. */
  onFact(received: ReceivedFact): void | Promise<void>;
  /** Called once, when all is read that was there when the following began. */
  onCaughtUp?(): void;
  /** Called for a message that is no fact. It is passed over. */
  onUnreadable?(unreadable: { subject: string; sequence: number; reason: string }): void;
  /** Called when the server has lost the log's tail, which may happen where it doesn't sync: facts come again from the start. */
  onRewound?(): void;
};

/**
 * Follows facts until stopped. After a lost connection or a deleted consumer it goes on where it was;
 * a fact is never skipped or seen twice (but see `onRewound`). Never fails: without a server it waits.
 */
export function followFacts(bus: Bus, options: FollowOptions): Following {
  return follow(bus, options);
}

/**
 * Follows the facts of one run, like `followFacts`. It takes a server longer the more of the log it has to look through, so it
 * begins shortly before the run did.
 */
export function followRun(
  bus: Bus,
  run: { app: string; runId: string },
  options: Omit<FollowOptions, 'filter'>,
): Following {
  return follow(bus, {
    ...options,
    filter: subjects.factsOfRun(run.app, run.runId),
    beginning: () => beginningOf(bus, run),
  });
}

/** Whether the log has a run's first fact. Runs leave the log when they have ended and the trace-store has them. */
export async function isInLog(bus: Bus, run: { app: string; runId: string }): Promise<boolean> {
  return (await orUnavailable(firstOf(bus, run), readWithinMs)) !== null;
}

/** Nothing of the run stands before; undefined where the log doesn't have its first fact. */
async function beginningOf(bus: Bus, run: { app: string; runId: string }): Promise<Beginning | undefined> {
  const first = await firstOf(bus, run);
  if (!first) return undefined;
  const writtenAtMs = first.time.getTime();
  // Not a number where the body lies elsewhere.
  const acceptedAtMs = Date.parse(/"at":"([^"]+)"/.exec(first.string())?.[1] ?? '');
  if (Math.abs(writtenAtMs - acceptedAtMs) < lateAfterMs) return { sequence: first.seq - earlierBySequences };
  const bornAtMs = Number.isNaN(acceptedAtMs) ? writtenAtMs : Math.min(writtenAtMs, acceptedAtMs);
  return { time: new Date(bornAtMs - earlierByMs) };
}

async function firstOf(bus: Bus, run: { app: string; runId: string }) {
  return await bus.jsm.direct.getMessage(streams.runs, { last_by_subj: factSubject(bus, run, 'started') });
}

function follow(bus: Bus, options: FollowOptions & Pick<ReadingOptions, 'beginning'>): Following {
  let isStopped = false;
  const reading = readInOrder(bus, {
    stream: streams.runs,
    filter: options.filter,
    startSequence: options.startSequence ?? 1,
    ...(options.startSequence === undefined && options.beginning ? { beginning: options.beginning } : {}),
    async onMessage(message) {
      const received = await receive(bus, message, { ...options, isStopped: () => isStopped });
      if (received && !isStopped) await options.onFact(received);
    },
    onCaughtUp: () => options.onCaughtUp?.(),
    onRewound: () => options.onRewound?.(),
  });
  return {
    async stop() {
      isStopped = true;
      await reading.stop();
    },
  };
}

/** All facts of a run, in order; empty when there is no such run. Throws `UnavailableError` when NATS doesn't answer for 15 s. */
export async function readFacts(bus: Bus, app: string, runId: string): Promise<ReceivedFact[]> {
  const facts: ReceivedFact[] = [];
  const caughtUp = Promise.withResolvers<void>();
  const following = followRun(
    bus,
    { app, runId },
    {
      onFact: (received) => void facts.push(received),
      onCaughtUp: caughtUp.resolve,
      onRewound: () => void facts.splice(0),
    },
  );
  try {
    await orUnavailable(caughtUp.promise, readWithinMs);
    return facts;
  } finally {
    void following.stop();
  }
}

type ReceiveOptions = FollowOptions & { isStopped(): boolean };

async function receive(bus: Bus, message: JsMsg, options: ReceiveOptions): Promise<ReceivedFact | undefined> {
  const { subject, seq: sequence } = message;
  const address = parseFactSubject(subject);
  try {
    if (!address) throw new TypeError('the subject is not that of a fact');
    const fact = factSchema.parse(await decodePatiently(bus, message, options));
    return { fact, sequence, subject, slot: address.slot, partition: address.partition, trace: traceOf(message) };
  } catch (error) {
    const reason = error instanceof Error ? error.name : 'unknown';
    if (!options.isStopped()) options.onUnreadable?.({ subject, sequence, reason });
    return undefined;
  }
}

/** An outage while a body is fetched must not make its fact look like none. */
async function decodePatiently(bus: Bus, message: JsMsg, options: ReceiveOptions): Promise<unknown> {
  for (let tries = 1; ;) {
    try {
      return await decodeMessage(bus, message);
    } catch (error) {
      if (!isTransient(error) || options.isStopped()) throw error;
      const isAnswered = error instanceof UnavailableError && error.cause === undefined && bus.isConnected();
      if (isAnswered && ++tries > claimTriesMax) throw error;
      await pause(claimRetryMs);
    }
  }
}
