/** How replicas call slices back from each other, over core NATS: a call names budgets, and each replica says when it has given back. */
import { randomUUID } from 'node:crypto';
import type { Bus } from '@pawl/bus';
import { subjects } from '@pawl/contracts';
import type { Log } from '@pawl/service';
import { z } from 'zod';

const subject = subjects.gatewayHint('slices');
const givenBackWithinMs = 1_000;
/** Who did not answer is most likely dead, and is not waited for while its slices last. */
const silentMs = 60_000;

const messageSchema = z.object({
  from: z.string(),
  id: z.string(),
  /** Keys of budgets; absent when they were given back. */
  keys: z.array(z.string()).optional(),
});
type Message = z.infer<typeof messageSchema>;

export type SliceCalls = {
  /** Resolves when the other replicas that have a slice have given back, or after a while. */
  callBack(keys: readonly string[], others: readonly string[]): Promise<void>;
  /** Whether any of them is known to answer. */
  canAsk(others: readonly string[]): boolean;
  close(): void;
};

/** `giveBack` gives back what this replica has of budgets that another calls for. */
export function createSliceCalls(options: {
  bus: Bus;
  log: Log;
  owner: string;
  giveBack(keys: readonly string[]): Promise<void>;
}): SliceCalls {
  const { bus, log, owner: from, giveBack } = options;
  const silentUntil = new Map<string, number>();
  const isSilent = (replica: string) => (silentUntil.get(replica) ?? 0) > performance.now();
  const waiting = new Map<string, (replica: string) => void>();
  const tell = (message: Message) => {
    if (bus.isConnected()) bus.connection.publish(subject, JSON.stringify(message));
  };
  const answer = async ({ id, keys }: Message) => {
    try {
      if (keys) await giveBack(keys);
    } catch (error) {
      log.warn({ err: error }, 'slices will be given back later');
    }
    tell({ from, id });
  };
  const subscription = bus.connection.subscribe(subject, {
    callback(error, received) {
      const message = error ? undefined : parse(received.string());
      if (!message || message.from === from) return;
      if (message.keys) void answer(message);
      else waiting.get(message.id)?.(message.from);
    },
  });
  return {
    async callBack(keys, others) {
      const missing = new Set(others.filter((replica) => !isSilent(replica)));
      if (missing.size === 0) return;
      const id = randomUUID();
      const done = Promise.withResolvers<void>();
      const timer = setTimeout(done.resolve, givenBackWithinMs);
      waiting.set(id, (replica) => {
        missing.delete(replica);
        if (missing.size === 0) done.resolve();
      });
      tell({ from, id, keys: [...keys] });
      await done.promise;
      clearTimeout(timer);
      waiting.delete(id);
      for (const replica of missing) silentUntil.set(replica, performance.now() + silentMs);
      for (const [replica, until] of silentUntil) if (until < performance.now()) silentUntil.delete(replica);
    },
    canAsk: (others) => bus.isConnected() && others.some((replica) => !isSilent(replica)),
    close: () => subscription.unsubscribe(),
  };
}

function parse(text: string): Message | undefined {
  try {
    return messageSchema.parse(JSON.parse(text));
  } catch {
    return undefined;
  }
}
