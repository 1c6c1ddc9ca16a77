/** One piece of work from its message to its acknowledgement. */
import type { JsMsg } from '@nats-io/jetstream';
import { RejectedError, UnavailableError, workSchema, type Work } from '@pawl/contracts';
import { recordSpan, type TraceContext } from '@pawl/telemetry';
import { dropBody } from './claims.ts';
import type { Bus } from './connect.ts';
import { claimOf, decodeMessage, traceOf } from './message.ts';
import type { WorkQueueOptions } from './work-queue.ts';

const redeliverAfterMs = 1_000;
/** Work whose body is still not in the object store after this many deliveries is dropped; the watchdog asks again (I4). */
const claimDeliveriesMax = 10;

/**
 * Handles work and settles its message; never throws. `held.work` is the latest delivery, which may change while the
 * handler is busy.
 */
export async function handleWork<K extends Work['kind']>(
  bus: Bus,
  held: { work: JsMsg },
  options: WorkQueueOptions<K>,
): Promise<void> {
  const deliveries = held.work.info.deliveryCount;
  const { subject } = held.work;
  const startedAtMs = Date.now();
  const trace = traceOf(held.work);
  try {
    await options.handle(await decodeWork(bus, held.work, options.kind), { trace, deliveries });
    held.work.ack();
    dropBodyOf(bus, held.work);
  } catch (error) {
    options.onError?.(error, { subject, deliveries });
    if (error instanceof RejectedError) {
      held.work.term();
      dropBodyOf(bus, held.work);
    } else held.work.nak(redeliverAfterMs);
  } finally {
    recordProcess({ kind: options.kind, trace, startedAtMs });
  }
}

async function decodeWork<K extends Work['kind']>(
  bus: Bus,
  message: JsMsg,
  kind: K,
): Promise<Extract<Work, { kind: K }>> {
  const body = await decodeMessage(bus, message).catch((error: unknown) => {
    const isLost = error instanceof UnavailableError && error.cause === undefined && bus.isConnected();
    if (!isLost || message.info.deliveryCount < claimDeliveriesMax) throw error;
    throw new RejectedError('invalid_request', error.message);
  });
  const parsed = workSchema.safeParse(body);
  if (parsed.success && parsed.data.kind === kind) return parsed.data as Extract<Work, { kind: K }>;
  throw new RejectedError('invalid_request', 'the message is not the work that this queue holds');
}

/** A body that can't be removed now stays behind; nothing refers to it any more. */
function dropBodyOf(bus: Bus, message: JsMsg): void {
  const claim = claimOf(message);
  if (claim) void dropBody(bus, claim).catch(() => undefined);
}

function recordProcess(done: { kind: Work['kind']; trace: TraceContext; startedAtMs: number }): void {
  const { traceId, spanId, isSampled } = done.trace;
  recordSpan({
    name: `process pawl.${done.kind}`,
    kind: 'consumer',
    trace: { traceId, parentSpanId: spanId, isSampled },
    startedAtMs: done.startedAtMs,
    endedAtMs: Date.now(),
    attributes: {
      'messaging.system': 'nats',
      'messaging.operation.name': 'process',
      'messaging.operation.type': 'process',
      'messaging.destination.template': `pawl.${done.kind}`,
    },
  });
}
