/**
 * What apps want taken out before anything is stored: declared in one service, kept to by every one that stores. JSON text by
 * app in the bucket of settings, so that nobody reads another's tables.
 */
import { buckets } from '@pawl/contracts';
import type { Bus } from './connect.ts';
import { orUnavailable } from './failures.ts';
import { watchBucket } from './watched-bucket.ts';

export type RedactionRulesOf<T> = {
  /** Undefined where the app said nothing. */
  of(app: string): T | undefined;
  close(): void;
};

/** Reads what all apps want and keeps it up to date. `parse` throws for what is not valid. */
export async function connectRedactionRules<T>(bus: Bus, parse: (text: string) => T): Promise<RedactionRulesOf<T>> {
  const watched = await watchBucket<T>(bus, { bucket: bus.settings, name: buckets.settings, parse });
  return { of: (app) => watched.entries().get(keyOf(app)), close: () => watched.close() };
}

/** Tells every service what an app wants. Safe to repeat: what is told already is not told again. */
export async function tellRedactionRules(bus: Bus, app: string, text: string): Promise<void> {
  const told = await orUnavailable(bus.settings.get(keyOf(app)));
  if (told?.string() !== text) await orUnavailable(bus.settings.put(keyOf(app), text));
}

function keyOf(app: string): string {
  return `redaction.${app}`;
}
