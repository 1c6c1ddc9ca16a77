/**
 * Publishing into the streams. A message is stored only where its subject holds none yet:
 * that makes a fact's slot write-once (I1) and keeps work that is driven again from piling up (I4).
 */
import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import { slotOf, streams, subjects, type Fact, type Work } from '@pawl/contracts';
import { recordSpan, type TraceContext } from '@pawl/telemetry';
import { dropBody } from './claims.ts';
import type { Bus } from './connect.ts';
import { factSubject } from './fact-subject.ts';
import { orUnavailable, withPatience } from './failures.ts';
import { claimOf, encodeMessage, type WireMessage } from './message.ts';

/** A replicated stream whose leader died stands still for about 5 s; give up well after that. */
const patienceMs = 20_000;

export type PublishOutcome = { outcome: 'written'; sequence: number } | { outcome: 'refused' };

/**
 * Writes a fact into its slot. `refused` means that the slot holds a fact already, be it another writer's or this one's
 * from a try whose answer was lost: read it and go on. Throws `UnavailableError` when the broker doesn't answer for 20 s,
 * and `RejectedError` body_too_large.
 */
export function publishFact(bus: Bus, fact: Fact, trace: TraceContext): Promise<PublishOutcome> {
  const subject = factSubject(bus, fact, slotOf(fact));
  return publishOnce(bus, { subject, body: fact, trace, template: 'pawl.run' });
}

/** Asks for work. `pending` means that the same work is already waiting or under way. Throws like `publishFact`. */
export async function publishWork(bus: Bus, work: Work, trace: TraceContext): Promise<'written' | 'pending'> {
  const message = { subject: subjects.work(work), body: work, trace, template: `pawl.${work.kind}` };
  let wire: WireMessage | undefined;
  const { outcome } = await publishOnce(bus, { ...message, onEncoded: (encoded) => (wire = encoded) });
  if (outcome === 'written') return 'written';
  const claim = wire && claimOf(wire);
  if (claim)
    await dropUnused(bus, { stream: streams[work.kind], subject: message.subject, claim }).catch(() => undefined);
  return 'pending';
}

type Outgoing = {
  subject: string;
  body: Fact | Work;
  trace: TraceContext;
  template: string;
  onEncoded?: (wire: WireMessage) => void;
};

async function publishOnce(bus: Bus, message: Outgoing): Promise<PublishOutcome> {
  const startedAtMs = Date.now();
  const { isConnected } = bus;
  let wire: WireMessage | undefined;
  return await withPatience({ patienceMs, isConnected, isClosed: () => bus.connection.isClosed() }, async () => {
    if (!wire) {
      wire = await encodeMessage(bus, message);
      wire.headers.set('Nats-Expected-Last-Subject-Sequence', '0');
      message.onEncoded?.(wire);
    }
    try {
      const sequence = await bus.publishAcknowledged({ subject: message.subject, ...wire });
      recordSend(message, startedAtMs);
      return { outcome: 'written', sequence } as const;
    } catch (error) {
      if (isSlotTaken(error)) return { outcome: 'refused' } as const;
      throw error;
    }
  });
}

/** The body of refused work goes, unless the message that waits is this one, from a try whose answer was lost. */
async function dropUnused(bus: Bus, of: { stream: string; subject: string; claim: string }): Promise<void> {
  const waiting = await orUnavailable(bus.jsm.streams.getMessage(of.stream, { last_by_subj: of.subject }));
  if (!waiting || claimOf({ headers: waiting.header }) !== of.claim) await dropBody(bus, of.claim);
}

function recordSend(message: Outgoing, startedAtMs: number): void {
  const { traceId, spanId, isSampled } = message.trace;
  recordSpan({
    name: `send ${message.template}`,
    kind: 'producer',
    trace: { traceId, parentSpanId: spanId, isSampled },
    startedAtMs,
    endedAtMs: Date.now(),
    attributes: {
      'messaging.system': 'nats',
      'messaging.operation.name': 'send',
      'messaging.operation.type': 'send',
      'messaging.destination.template': message.template,
    },
  });
}

/** Whether a message was refused because its subject holds one already. */
export function isSlotTaken(error: unknown): boolean {
  if (!(error instanceof JetStreamApiError)) return false;
  return (
    error.code === JetStreamApiCodes.StreamWrongLastSequence ||
    error.code === JetStreamApiCodes.StreamWrongLastSequenceUnknown
  );
}
