/**
 * GET /v1/runs/{id}/events: a run's facts as server-sent events, from the start or behind `Last-Event-ID`, to its end.
 * Each event's id is its place in the log, so a client that comes back gets what it missed, once. Pieces of thoughts
 * (`?deltas=true`) have no id. A client that leaves changes nothing; one that reads slowly is read for slowly.
 * Source: HTML Living Standard, server-sent events.
 */
import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import { followRun, isInLog, subscribeDeltas, type Bus, type ReceivedFact } from '@pawl/bus';
import { guardApp, isStillIn, type Authorizer, type Http } from '@pawl/service';
import { hasLeftLog, type ReadRun } from '../partitions/read-run.ts';
import { runParams } from './read-run.ts';

const keepAliveEveryMs = 15_000;
/** How long a stream may outlive the key or token that opened it. */
const askAgainEveryMs = 5_000;
const bufferedBytesMax = 1_048_576;
const query = z.strictObject({ deltas: z.enum(['true', 'false']).optional() });
const headersSchema = z.looseObject({
  'last-event-id': z
    .string()
    .regex(/^\d{1,15}$/, 'must be the id of an event')
    .optional(),
});

export function runEventsRoute(http: Http, using: { authorizer: Authorizer; bus: Bus; readRun: ReadRun }): void {
  const closing = Promise.withResolvers<void>();
  http.addHook('preClose', async () => closing.resolve());
  const schema = { params: runParams, querystring: query, headers: headersSchema };
  const onRequest = guardApp(using.authorizer, 'runs:read');
  http.get('/v1/runs/:id/events', { onRequest, schema }, async (request, reply) => {
    const { app } = using.authorizer.authorizeApp(request, 'runs:read');
    const runId = request.params.id;
    const { status } = await using.readRun.read(app, runId);
    const hasEnded = status === 'ended';
    if (hasEnded && !(await isInLog(using.bus, { app, runId }))) throw hasLeftLog(runId);
    const behind = Number(request.headers['last-event-id'] ?? 0);
    const hasDeltas = request.query.deltas === 'true';
    reply.hijack();
    await streamEvents(reply.raw, using.bus, {
      app,
      runId,
      behind,
      hasDeltas,
      hasEnded,
      closing: closing.promise,
      isStillIn: () => isStillIn(using.authorizer, request, { app, scope: 'runs:read' }),
    });
  });
}

type Wanted = {
  app: string;
  runId: string;
  behind: number;
  hasDeltas: boolean;
  hasEnded: boolean;
  closing: Promise<void>;
  isStillIn(): boolean;
};

async function streamEvents(response: ServerResponse, bus: Bus, wanted: Wanted): Promise<void> {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  response.flushHeaders();
  const finished = Promise.withResolvers<void>();
  response.on('close', () => finished.resolve());
  const keepAlive = setInterval(() => response.write(': still here\n\n'), keepAliveEveryMs);
  const askAgain = setInterval(() => (wanted.isStillIn() ? undefined : finished.resolve()), askAgainEveryMs);
  let step = 1;
  const stopDeltas = wanted.hasDeltas
    ? subscribeDeltas(bus, wanted, (delta) => {
        if (response.writableLength > bufferedBytesMax) return;
        response.write(formatEvent({ name: 'delta', data: { step, text: delta.text } }));
      })
    : () => {};
  const following = followRun(bus, wanted, {
    ...(wanted.behind > 0 && { startSequence: wanted.behind + 1 }),
    async onFact(received) {
      if (received.fact.kind === 'acted') step = received.fact.step + 1;
      await writeSlowly(response, formatFact(received));
      if (received.fact.kind === 'ended') finished.resolve();
    },
    onCaughtUp: () => (wanted.hasEnded ? finished.resolve() : undefined),
  });
  await Promise.race([finished.promise, wanted.closing]);
  clearInterval(keepAlive);
  clearInterval(askAgain);
  stopDeltas();
  response.end();
  await following.stop();
}

function formatFact({ fact, sequence }: ReceivedFact): string {
  return formatEvent({ id: sequence, name: fact.kind, data: fact });
}

function formatEvent(event: { id?: number; name: string; data: object }): string {
  const id = event.id === undefined ? '' : `id: ${event.id}\n`;
  return `${id}event: ${event.name}\ndata: ${JSON.stringify(event.data)}\n\n`;
}

/** Writes and, where the reader lags, waits until it has caught up or left. */
async function writeSlowly(response: ServerResponse, text: string): Promise<void> {
  if (response.destroyed || response.write(text)) return;
  await new Promise<void>((resolve) => {
    response.once('drain', resolve);
    response.once('close', resolve);
  });
}
