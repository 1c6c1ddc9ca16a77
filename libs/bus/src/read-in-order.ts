/**
 * Reading a stream in order, from a position, for as long as wanted.
 *
 * 1. A message is handed over once the one before it is dealt with; none is skipped, none is handed over twice.
 * 2. A lost connection, a restarted server or a deleted consumer costs time only: the next session starts behind the last
 *    message that was handed over.
 * 3. A server that came back with less than was read already has lost its tail. What is written since has positions that
 *    were read before, so the reading starts over, and says so.
 */
import { DeliverPolicy, type ConsumerConfig, type ConsumerMessages, type JsMsg } from '@nats-io/jetstream';
import { UnavailableError } from '@pawl/contracts';
import type { Bus } from './connect.ts';
import { isTransient, pause } from './failures.ts';

/**
 * Messages that a reader of the log may have on their way. Each may be as large as a server takes it, 1 MiB by default, and a server
 * cuts off who has more than 64 MiB to come. Never bounded by bytes: what the client asks for then shrinks to the size of what it was
 * sent last, and the next larger message is refused.
 */
export const pulledMax = 32;
const pullExpiresMs = 10_000;
const heartbeatMs = 2_000;
const retryMs = 250;

/** A position, or a time of the server. */
export type Beginning = { sequence: number } | { time: Date };

export type ReadingOptions = {
  stream: string;
  filter: string;
  startSequence: number;
  /** Asked when the reading begins at its start: nothing that is wanted stands before; undefined where that is not known. */
  beginning?: () => Promise<Beginning | undefined>;
  /** Begin with the newest message of each subject instead of all. */
  isLastPerSubject?: boolean;
  onMessage(message: JsMsg): void | Promise<void>;
  /** Called once, when all is read that was there at the beginning. */
  onCaughtUp(): void;
  /** Called when the reading starts over because the stream has lost its tail. */
  onRewound(): void;
};

export type Reading = {
  /** Resolves when what is being dealt with is done. */
  stop(): Promise<void>;
  /** Rejects with what `onMessage` threw, which ends the reading. */
  done: Promise<void>;
};

type Session = { messages: ConsumerMessages; pending: number; remove(): void };

export function readInOrder(bus: Bus, options: ReadingOptions): Reading {
  const stopped = Promise.withResolvers<undefined>();
  let isStopped = false;
  let session: Session | undefined;
  let next = options.startSequence;
  const goal = createGoal(options.onCaughtUp);

  const open = async (): Promise<Session> => {
    const info = bus.jsm.streams.info(options.stream);
    if (next > options.startSequence) {
      const { state } = await info;
      if (state.last_seq < next - 1) {
        next = options.startSequence;
        options.onRewound();
      }
    }
    const [{ state }, opened] = await Promise.all([info, openSession(bus, { ...options, next })]);
    goal.set(state.last_seq);
    return opened;
  };

  const read = async ({ messages, pending }: Session) => {
    goal.reach(next - 1, pending);
    for await (const message of messages) {
      if (message.seq < next) continue;
      await options.onMessage(message);
      next = message.seq + 1;
      if (isStopped) return;
      goal.reach(message.seq, message.info.pending);
    }
  };

  const run = async () => {
    while (!isStopped && !bus.connection.isClosed()) {
      const opening = bus.isConnected() ? open() : Promise.reject(new UnavailableError('NATS is away'));
      opening.then((late) => isStopped && late.remove()).catch(() => undefined);
      try {
        session = await Promise.race([opening, stopped.promise]);
      } catch (error) {
        if (!isTransient(error) && !isMissing(error)) throw error;
        await Promise.race([pause(retryMs), stopped.promise]);
        continue;
      }
      if (!session || isStopped) return;
      const { remove } = session;
      await read(session).finally(remove);
    }
  };
  const forgetReconnect = bus.onReconnect(() => session?.messages.stop());
  const done = run().finally(forgetReconnect);

  return {
    done,
    async stop() {
      isStopped = true;
      stopped.resolve(undefined);
      session?.messages.stop();
      await done;
    },
  };
}

/** Tells once when all is read that was there at first: nothing is pending, or the position of that time is reached. */
function createGoal(onReached: () => void) {
  let isReached = false;
  let goal: number | undefined;
  return {
    set: (sequence: number) => void (goal ??= sequence),
    reach(sequence: number, pending: number) {
      if (isReached || (pending > 0 && sequence < (goal ?? Infinity))) return;
      isReached = true;
      onReached();
    },
  };
}

async function openSession(bus: Bus, options: ReadingOptions & { next: number }): Promise<Session> {
  const consumer = await bus.js.consumers.get(options.stream, {
    filter_subjects: options.filter,
    ...(await beginningOf(options)),
  });
  const { num_pending: pending } = await consumer.info(true);
  const messages = await consumer.consume({
    max_messages: pulledMax,
    expires: pullExpiresMs,
    idle_heartbeat: heartbeatMs,
  });
  void stopWhenSilent(messages);
  const remove = () => {
    messages.stop();
    if (bus.isConnected()) void consumer.delete().catch(() => false);
  };
  return { messages, pending, remove };
}

async function beginningOf(options: ReadingOptions & { next: number }): Promise<Partial<ConsumerConfig>> {
  const isFirst = options.next === options.startSequence;
  if (isFirst && options.isLastPerSubject) return { deliver_policy: DeliverPolicy.LastPerSubject };
  const beginning = isFirst ? await options.beginning?.() : undefined;
  if (beginning && 'time' in beginning) {
    return { deliver_policy: DeliverPolicy.StartTime, opt_start_time: beginning.time.toISOString() };
  }
  const sequence = Math.max(1, options.next, beginning?.sequence ?? 1);
  return { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: sequence };
}

/** A consumer that was deleted, or a server that hangs, sends no more heartbeats. */
async function stopWhenSilent(messages: ConsumerMessages): Promise<void> {
  for await (const { type } of messages.status()) {
    if (type === 'heartbeats_missed' || type === 'consumer_deleted' || type === 'consumer_not_found') messages.stop();
  }
}

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'status' in error && error.status === 404;
}
