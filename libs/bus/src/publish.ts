/**
 * Publishing into the streams. A message is stored only where its subject holds none yet:
 * that makes a fact's slot write-once (I1) and keeps work that is driven again from piling up (I4).
 */
import { errors } from '@nats-io/nats-core';
import { JetStreamApiCodes, JetStreamApiError } from '@nats-io/jetstream';
import { partitionOf, slotOf, subjects, UnavailableError, type Fact, type Work } from '@pawl/contracts';
import { newSpanId, recordSpan, type TraceContext } from '@pawl/telemetry';
import type { Bus } from './connect.ts';
import { encodeMessage } from './message.ts';

const attemptTimeoutMs = 3_000;
/** A replicated stream whose leader died stands still for about 5 s; give up well after that. */
const patienceMs = 20_000;

export type PublishOutcome = { outcome: 'written'; sequence: number } | { outcome: 'refused' };

/**
 * Writes a fact into its slot. `refused` means that the slot holds a fact already, be it another writer's or this one's
 * from a try whose answer was lost: read it and go on. Throws `UnavailableError` when the broker doesn't answer for 20 s.
 */
export function publishFact(bus: Bus, fact: Fact, trace: TraceContext): Promise<PublishOutcome> {
  const { app, runId } = fact;
  const subject = subjects.fact({ partition: partitionOf(runId, bus.partitions), app, runId }, slotOf(fact));
  return publishOnce(bus, { subject, body: fact, trace, template: 'pawl.run' });
}

/** Asks for work. `pending` means that the same work is already waiting or under way. */
export async function publishWork(bus: Bus, work: Work, trace: TraceContext): Promise<'written' | 'pending'> {
  const message = { subject: subjects.work(work), body: work, trace, template: `pawl.${work.kind}` };
  const { outcome } = await publishOnce(bus, message);
  return outcome === 'written' ? 'written' : 'pending';
}

type Outgoing = { subject: string; body: Fact | Work; trace: TraceContext; template: string };

async function publishOnce(bus: Bus, message: Outgoing): Promise<PublishOutcome> {
  const startedAtMs = Date.now();
  const wire = await encodeMessage(bus, message.body, message.trace);
  const giveUpAt = performance.now() + patienceMs;
  for (;;) {
    try {
      const stored = await bus.js.publish(message.subject, wire.payload, {
        headers: wire.headers,
        expect: { lastSubjectSequence: 0 },
        timeout: attemptTimeoutMs,
      });
      recordSend(message, startedAtMs);
      return { outcome: 'written', sequence: stored.seq };
    } catch (error) {
      if (isSlotTaken(error)) return { outcome: 'refused' };
      if (!isTransient(error)) throw error;
      if (performance.now() > giveUpAt || bus.connection.isClosed()) {
        throw new UnavailableError('NATS does not take messages', error);
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

function recordSend(message: Outgoing, startedAtMs: number): void {
  const { traceId, spanId, isSampled } = message.trace;
  recordSpan({
    name: `send ${message.template}`,
    kind: 'producer',
    trace: { traceId, spanId: newSpanId(), parentSpanId: spanId, isSampled },
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

function isSlotTaken(error: unknown): boolean {
  if (!(error instanceof JetStreamApiError)) return false;
  return (
    error.code === JetStreamApiCodes.StreamWrongLastSequence ||
    error.code === JetStreamApiCodes.StreamWrongLastSequenceUnknown
  );
}

function isTransient(error: unknown): boolean {
  if (error instanceof JetStreamApiError) return error.status >= 500;
  return (
    error instanceof errors.TimeoutError ||
    error instanceof errors.RequestError ||
    error instanceof errors.NoRespondersError ||
    error instanceof errors.ConnectionError ||
    error instanceof errors.ClosedConnectionError ||
    (error instanceof Error && error.constructor.name.startsWith('JetStream'))
  );
}
