/**
 * Watching, by server-sent events: `GET /v1/traces/live` tells every run of the app that has something new,
 * `GET /v1/traces/{runId}/live` every record of a run as it is stored, from the start or behind `Last-Event-ID`, to its end.
 * Of another agent's spans only the run is told: what they are follows from all of them.
 * A key that is revoked or a token that expires ends what it has opened, within seconds.
 * A record may come twice where a client comes back; its slot tells. Nothing that was stored is passed over.
 * Source: HTML Living Standard, server-sent events.
 */
import type { ServerResponse } from 'node:http';
import { z } from 'zod';
import type { Database } from '@pawl/db';
import type { Http, Log } from '@pawl/service';
import { inStoryOrder } from '../record/story.ts';
import type { StoredNotices } from '../stored-notices.ts';
import { findRun } from '../store/read-runs.ts';
import type { BodyLimits } from '../store/record-rows.ts';
import type { Access, Lens, Reader } from './access.ts';
import { isRunId, unknownRun } from './get-trace.ts';
import { readStory } from './read-story.ts';
import { renderRecord } from './record-view.ts';
import { viewRun } from './run-view.ts';

const keepAliveEveryMs = 15_000;
/** Notices that are lost cost no more than this. */
const lookAgainEveryMs = 5_000;
/** Between two looks, so that a busy run is read in batches. */
const restMs = 100;
/** A commit may be this much younger than the time in its rows. */
const commitSlackMs = 60_000;
/** Runs of an app that wait to be told; the oldest are dropped behind it, a list shows them. */
const waitingRunsMax = 1_000;
const bodyLimits: BodyLimits = { bodyBytesMax: 65_536, totalBytesMax: 4_194_304 };

const headersSchema = z.looseObject({
  'last-event-id': z
    .string()
    .regex(/^\d{1,15}$/, 'must be the id of an event')
    .optional(),
});

export type LiveRoutes = { database: Database; access: Access; notices: StoredNotices; log: Log };

export function serveLiveTraces(http: Http, routes: LiveRoutes): void {
  const closing = new AbortController();
  http.addHook('preClose', async () => closing.abort());
  const appWide = { summary: 'Watch the runs of the app (server-sent events)' };
  http.get('/v1/traces/live', { onRequest: routes.access.readers, schema: appWide }, async (request, reply) => {
    const reader = await routes.access.read(request, { action: 'tail' });
    reply.hijack();
    const isStillIn = () => routes.access.isStillIn(request, reader);
    await tell(openStream(reply.raw, closing.signal), { ...routes, isStillIn }, watchApp(routes, reader));
  });
  const one = {
    summary: 'Watch one run (server-sent events)',
    params: z.object({ runId: z.string() }),
    headers: headersSchema,
  };
  http.get('/v1/traces/:runId/live', { onRequest: routes.access.readers, schema: one }, async (request, reply) => {
    const { runId } = request.params;
    const reader = await routes.access.read(request, { action: 'tail', ...(isRunId(runId) ? { runId } : {}) });
    const { app, lens } = reader;
    if (!isRunId(runId) || !(await findRun(routes.database, { app, runId }))) throw unknownRun();
    const lastId = request.headers['last-event-id'];
    const storedAfter = lastId === undefined ? undefined : new Date(Number(lastId) - commitSlackMs);
    reply.hijack();
    const isStillIn = () => routes.access.isStillIn(request, reader);
    const watch = watchRun(routes, { app, runId, lens, storedAfter });
    await tell(openStream(reply.raw, closing.signal), { ...routes, isStillIn }, watch);
  });
}

/** What is watched: what wakes it, and what it has to say then. */
type Watch = {
  subscribe(wake: (runId: string) => void): () => void;
  /** Writes what is new. Gives whether there will be nothing more. */
  look(write: (event: string) => Promise<void>): Promise<boolean>;
};

function watchApp({ database, notices }: LiveRoutes, { app, lens }: Reader): Watch {
  let waiting = new Set<string>();
  return {
    subscribe: (wake) =>
      notices.subscribe({ app }, (runId) => {
        if (waiting.size < waitingRunsMax) waiting.add(runId);
        wake(runId);
      }),
    async look(write) {
      const runIds = waiting;
      waiting = new Set();
      for (const runId of runIds) {
        const row = await findRun(database, { app, runId });
        if (row) await write(formatEvent({ id: Date.now(), name: 'run', data: JSON.stringify(viewRun(row, lens)) }));
      }
      return false;
    },
  };
}

type Watched = { app: string; runId: string; lens: Lens; storedAfter: Date | undefined };

function watchRun({ database, notices }: LiveRoutes, { app, runId, lens, storedAfter }: Watched): Watch {
  const told: string[] = [];
  return {
    subscribe: (wake) => notices.subscribe({ app, runId }, wake),
    async look(write) {
      // Before the records: what ends meanwhile is told by the next look.
      const row = await findRun(database, { app, runId });
      if (!row) return true;
      const id = Date.now();
      const news = await readStory(database, row, { lens, limits: bodyLimits, range: { storedAfter, without: told } });
      for (const record of inStoryOrder(news)) {
        told.push(record.storedSlot ?? record.slot);
        if (row.source === 'otlp') continue;
        const data = renderRecord(record, { step: undefined, traceId: row.trace_id });
        await write(formatEvent({ id, name: 'record', data }));
      }
      const isEnded = row.status === 'ended';
      if (news.length > 0 || isEnded) {
        await write(formatEvent({ id, name: 'run', data: JSON.stringify(viewRun(row, lens)) }));
      }
      return isEnded;
    },
  };
}

type Stream = { signal: AbortSignal; write(text: string): Promise<void>; end(): void };

type Telling = Pick<LiveRoutes, 'log'> & {
  /** Whether the client may still watch. */
  isStillIn(): boolean;
};

/** Looks when woken, and now and then, until there is nothing more, the client has left, or its key has ended. */
async function tell(stream: Stream, { log, isStillIn }: Telling, watch: Watch): Promise<void> {
  let wake = Promise.withResolvers<void>();
  const stopHearing = watch.subscribe(() => wake.resolve());
  stream.signal.addEventListener('abort', () => wake.resolve(), { once: true });
  try {
    while (!stream.signal.aborted && isStillIn()) {
      wake = Promise.withResolvers<void>();
      if (await watch.look(stream.write)) break;
      await Promise.race([wake.promise, after(lookAgainEveryMs, stream.signal)]);
      await after(restMs, stream.signal);
    }
  } catch (error) {
    // The client comes back and gets what it missed.
    log.warn({ reason: error instanceof Error ? error.name : 'unknown' }, 'a live view broke off');
  } finally {
    stopHearing();
    stream.end();
  }
}

function openStream(response: ServerResponse, closing: AbortSignal): Stream {
  const left = new AbortController();
  const signal = AbortSignal.any([left.signal, closing]);
  response.on('close', () => left.abort());
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
  });
  response.flushHeaders();
  const keepAlive = setInterval(() => response.write(': still here\n\n'), keepAliveEveryMs);
  return {
    signal,
    async write(text) {
      if (signal.aborted || response.write(text)) return;
      await new Promise<void>((resolve) => {
        response.once('drain', resolve);
        response.once('close', resolve);
      });
    },
    end() {
      clearInterval(keepAlive);
      response.end();
    },
  };
}

function formatEvent({ id, name, data }: { id: number; name: string; data: string }): string {
  return `id: ${id}\nevent: ${name}\ndata: ${data}\n\n`;
}

function after(delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const timer = setTimeout(done, delayMs);
    function done() {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    }
    signal.addEventListener('abort', done, { once: true });
  });
}
