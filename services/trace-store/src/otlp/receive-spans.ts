/**
 * Spans of other agents into the store. Each trace is a run; its id is given when the first span comes and stays.
 * What the app's rules want out is out before anything is kept. Spans of Pawl's own runs are passed over: they are told by
 * their facts.
 */
import { sha256 } from '@pawl/contracts';
import { redactJson, redactText, type RedactionRules } from '@pawl/redaction';
import { foreignBirthMs, isExpired, runIdFrom } from '../retention/period.ts';
import { giveRunIds } from '../store/foreign-runs.ts';
import type { TraceTables } from '../store/trace-tables.ts';
import { storeSpans } from '../store/store-messages.ts';
import type { Entry } from '../store/write-batch.ts';
import type { TraceRecord } from '../record/record.ts';
import { entryOfSpan } from './span-entry.ts';
import type { Attributes, OtlpSpan, ReceivedSpans } from './span.ts';

/** Rows that go into one transaction. */
const batchSpansMax = 2_000;

export type SpanReceiver = {
  /** Stores the spans of an app; when it resolves, they are committed. Gives how many were refused, and why. */
  receive(app: string, received: ReceivedSpans): Promise<Omit<ReceivedSpans, 'spans'>>;
};

export function createSpanReceiver(options: {
  tables: TraceTables;
  /** Told, after their commit, of the records that were new. */
  onStored(records: readonly TraceRecord[]): void;
  /** Told of each request. */
  onReceived?(spans: { stored: number; refused: number }): void;
}): SpanReceiver {
  const { tables, onStored, onReceived } = options;
  return {
    async receive(app, received) {
      let { rejected, reason } = received;
      let stored = 0;
      const foreign = received.spans.filter(({ attributes }) => !('pawl.run.id' in attributes));
      const rules = tables.policy.rulesOf(app);
      for (let from = 0; from < foreign.length; from += batchSpansMax) {
        const spans = foreign.slice(from, from + batchSpansMax);
        const runIds = await giveRunIds(tables.database, app, candidatesOf(app, spans, tables.nowMs()));
        const entries: Entry[] = [];
        for (const span of spans) {
          const entry = entryIn(tables, { app, runId: runIds.get(span.traceId) ?? '', span, rules });
          if ('record' in entry) entries.push(entry);
          else {
            rejected += 1;
            reason ??= entry.reason;
          }
        }
        const { added, refused } = await storeSpans(tables, entries);
        onStored(added);
        stored += added.length;
        rejected += refused;
        if (refused > 0) reason ??= 'a span could not be stored';
      }
      onReceived?.({ stored, refused: rejected });
      return { rejected, reason };
    },
  };
}

type Named = { app: string; runId: string; span: OtlpSpan; rules: RedactionRules };

/** The row of a span, or why there is none. A span that can't be read is no reason to refuse the others. */
function entryIn(tables: TraceTables, { app, runId, span, rules }: Named): Entry | { reason: string } {
  const place = tables.policy.placeOf({ app, runId });
  if (isExpired(place.week, tables.policy.keptDays(place.class), tables.nowMs())) {
    return { reason: 'the trace is older than traces are kept' };
  }
  try {
    const { record, adds } = entryOfSpan(redactSpan(span, rules), { app, runId });
    return { record, adds };
  } catch {
    return { reason: 'a span could not be understood' };
  }
}

/** The id that each trace gets where it has none yet: born when the earliest span that came began. */
function candidatesOf(app: string, spans: readonly OtlpSpan[], nowMs: number): { traceId: string; runId: string }[] {
  const born = new Map<string, bigint>();
  for (const { traceId, startNano } of spans) {
    const known = born.get(traceId);
    if (known === undefined || startNano < known) born.set(traceId, startNano);
  }
  return [...born].map(([traceId, nano]) => ({
    traceId,
    runId: runIdFrom(foreignBirthMs(Number(nano / 1_000_000n), nowMs), sha256(`${app}/${traceId}`)),
  }));
}

/** The span without what has to be out. */
function redactSpan(span: OtlpSpan, rules: RedactionRules): OtlpSpan {
  const clean = (attributes: Attributes) => JSON.parse(redactJson(JSON.stringify(attributes), rules)) as Attributes;
  return {
    ...span,
    name: redactText(span.name, rules),
    statusMessage: redactText(span.statusMessage, rules),
    attributes: clean(span.attributes),
    events: span.events.map(({ name, atNano, attributes }) => ({
      name: redactText(name, rules),
      atNano,
      attributes: clean(attributes),
    })),
    links: span.links.map((link) => ({ ...link, attributes: clean(link.attributes) })),
    traceState: redactText(span.traceState, rules),
    scope: { name: redactText(span.scope.name, rules), version: redactText(span.scope.version, rules) },
    resource: clean(span.resource),
  };
}
