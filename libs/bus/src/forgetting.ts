/**
 * Asking a service to forget what it keeps of runs, or of a user, over core NATS. Nothing is durable here: whoever asks goes on
 * asking until it is told that it was done, and doing it again changes nothing.
 */
import { randomUUID } from 'node:crypto';
import {
  forgetSchema,
  forgottenSchema,
  subjects,
  UnavailableError,
  type Forget,
  type Forgetting,
} from '@pawl/contracts';
import type { Bus } from './connect.ts';

const answeredWithinMs = 15_000;

/** Resolves when a replica of the service has forgotten. Throws `UnavailableError` when none says so. */
export async function askToForget(bus: Bus, service: string, what: Forgetting): Promise<void> {
  const id = randomUUID();
  const answered = Promise.withResolvers<boolean>();
  const subscription = bus.connection.subscribe(subjects.forgotten(service), {
    callback(error, message) {
      const answer = error ? undefined : forgottenSchema.safeParse(message.json()).data;
      if (answer?.id === id) answered.resolve(answer.isDone);
    },
  });
  const timer = setTimeout(() => answered.resolve(false), answeredWithinMs);
  try {
    bus.connection.publish(subjects.forget(service), JSON.stringify({ ...what, id }));
    if (!(await answered.promise)) throw new UnavailableError(`${service} did not say that it has forgotten`);
  } finally {
    clearTimeout(timer);
    subscription.unsubscribe();
  }
}

export type ForgettingOptions = {
  service: string;
  /** Has to be idempotent. */
  forget(what: Forgetting): Promise<unknown>;
  onError(error: unknown): void;
};

/** Forgets what is asked for, each by one replica, until the returned function is called. */
export function serveForgetting(bus: Bus, { service, forget, onError }: ForgettingOptions): () => void {
  const answer = async (asked: Forget) => {
    const { id, ...what } = asked;
    let isDone = true;
    try {
      await forget(what);
    } catch (error) {
      onError(error);
      isDone = false;
    }
    if (bus.isConnected()) bus.connection.publish(subjects.forgotten(service), JSON.stringify({ id, isDone }));
  };
  const subscription = bus.connection.subscribe(subjects.forget(service), {
    queue: service,
    callback(error, message) {
      const asked = error ? undefined : forgetSchema.safeParse(message.json()).data;
      if (asked) void answer(asked);
    },
  });
  return () => subscription.unsubscribe();
}
