/**
 * What apps want of their traces. How long they are kept: days by class, from the configuration, and the class of each
 * app's runs, from Postgres. What is taken out of them: the app's rules of redaction. Where else they can be seen.
 * Read at the start and again with every round of maintenance; a change counts for runs born later than every replica has read it.
 */
import { tellRedactionRules, type Bus } from '@pawl/bus';
import type { Database } from '@pawl/db';
import { noRules, parseRules, type RedactionRules } from '@pawl/redaction';
import { placeOf, type ClassChange, type Place } from './period.ts';

/** A change of class counts from this much later on. */
export const changeDelayMs = 300_000;

export type Policy = {
  placeOf(run: { app: string; runId: string }): Place;
  /** Days that a class is kept, or undefined for ever. */
  keptDays(name: string): number | undefined;
  classes(): string[];
  /** What has to be taken out of what an app's runs say. */
  rulesOf(app: string): RedactionRules;
  /** Address of a trace elsewhere, with `{traceId}`. */
  traceUrlOf(app: string): string | undefined;
  /** Reads again what apps want. */
  refresh(): Promise<void>;
};

/** `keptDays` by class. Nothing is read before `refresh`. */
export function createPolicy(options: {
  database: Database;
  keptDays: ReadonlyMap<string, number | undefined>;
  /** Where the other services that store are told what apps want taken out; absent: they are not. */
  bus?: Bus;
}): Policy {
  const { database, keptDays, bus } = options;
  let changes: ClassChange[] = [];
  let rules: ReadonlyMap<string, RedactionRules> = new Map();
  let traceUrls: ReadonlyMap<string, string> = new Map();
  return {
    placeOf: (run) => placeOf(run, changes),
    keptDays: (name) => keptDays.get(name),
    classes: () => [...keptDays.keys()],
    rulesOf: (app) => rules.get(app) ?? noRules,
    traceUrlOf: (app) => traceUrls.get(app),
    async refresh() {
      const rows = await database.query<{ app: string; since: Date; class: string }>(
        'select app, since, class from traces.app_classes',
      );
      changes = rows.map((row) => ({ app: row.app, sinceMs: row.since.getTime(), class: row.class }));
      const settings = await database.query<{ app: string; redaction: string; trace_url: string | null }>(
        'select app, redaction, trace_url from traces.app_settings',
      );
      rules = new Map(settings.map(({ app, redaction }) => [app, parseRules(redaction)]));
      traceUrls = new Map(settings.flatMap(({ app, trace_url }) => (trace_url === null ? [] : [[app, trace_url]])));
      if (bus) for (const { app, redaction } of settings) await tellRedactionRules(bus, app, redaction);
    },
  };
}
