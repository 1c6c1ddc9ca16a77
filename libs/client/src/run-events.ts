/**
 * A run's events over server-sent events, resumed by `Last-Event-ID` whenever the connection breaks: no event is missing, none
 * comes twice.
 */
import { factSchema, type Fact, type RunView } from '@pawl/contracts';
import { EventSourceParserStream } from 'eventsource-parser/stream';
import { isPassing, PawlError } from './pawl-error.ts';
import { pause, type Requests } from './requests.ts';

const reconnectMs = { first: 100, max: 5_000 };
const patienceMsDefault = 60_000;

export type RunEvent =
  /** A fact of the run's log; `id` resumes behind it. */
  | { kind: 'fact'; id: string; fact: Fact }
  /** A piece of a thought while it is spoken; never repeated. */
  | { kind: 'delta'; step: number; text: string };

export type EventsOptions = {
  /** Begin behind this event. Default: the run's start. */
  lastEventId?: string;
  /** Also pieces of thoughts. Default false. */
  deltas?: boolean;
  /** How long to try again without an answer. Default 60,000. */
  patienceMs?: number;
  signal?: AbortSignal;
};

/** All events up to the run's end, as they happen. Throws `PawlError`; an aborted signal throws its reason. */
export async function* readRunEvents(
  requests: Requests,
  runId: string,
  options: EventsOptions = {},
): AsyncGenerator<RunEvent, void, undefined> {
  const position: Position = { lastEventId: options.lastEventId, isOver: false };
  let retryMs = reconnectMs.first;
  let heardAtMs = performance.now();
  while (!position.isOver) {
    const before = position.lastEventId;
    try {
      yield* readConnection(requests, runId, { ...options, position });
      // The server closes the stream of a run that has ended, and when it shuts down.
      if (position.lastEventId === before) position.isOver ||= await hasEnded(requests, runId, options.signal);
      heardAtMs = performance.now();
    } catch (error) {
      options.signal?.throwIfAborted();
      if (position.lastEventId !== before) heardAtMs = performance.now();
      const isPatient = performance.now() - heardAtMs <= (options.patienceMs ?? patienceMsDefault);
      if (!isPassing(error) || !isPatient) throw error;
    }
    if (position.isOver) return;
    retryMs = position.lastEventId === before ? Math.min(retryMs * 2, reconnectMs.max) : reconnectMs.first;
    await pause(retryMs, options.signal);
  }
}

type Position = { lastEventId: string | undefined; isOver: boolean };
type Connection = EventsOptions & { position: Position };

async function* readConnection(requests: Requests, runId: string, options: Connection): AsyncGenerator<RunEvent> {
  const { position, signal } = options;
  const leaving = new AbortController();
  const response = await requests.open({
    method: 'GET',
    path: `/v1/runs/${encodeURIComponent(runId)}/events${options.deltas ? '?deltas=true' : ''}`,
    headers: { accept: 'text/event-stream', ...(position.lastEventId && { 'last-event-id': position.lastEventId }) },
    signal: signal ? AbortSignal.any([signal, leaving.signal]) : leaving.signal,
  });
  try {
    const messages = response.body?.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
    for await (const message of messages ?? []) {
      const event = parseEvent(message);
      if (event && advance(position, event)) yield event;
    }
  } catch (error) {
    signal?.throwIfAborted();
    throw new PawlError({ status: 0, code: 'unreachable', detail: 'the event stream broke off' }, error);
  } finally {
    leaving.abort();
  }
}

/** Moves on to an event; false when it was read before. */
function advance(position: Position, event: RunEvent): boolean {
  if (event.kind === 'delta') return true;
  if (Number(event.id) <= Number(position.lastEventId ?? 0)) return false;
  position.lastEventId = event.id;
  position.isOver = event.fact.kind === 'ended';
  return true;
}

/** Undefined for events of a kind that this version doesn't know. */
function parseEvent(message: {
  id?: string | undefined;
  event?: string | undefined;
  data: string;
}): RunEvent | undefined {
  const data = parseJson(message.data);
  if (message.event === 'delta') {
    const { step, text } = (data ?? {}) as { step?: unknown; text?: unknown };
    return typeof step === 'number' && typeof text === 'string' ? { kind: 'delta', step, text } : undefined;
  }
  const parsed = factSchema.safeParse(data);
  return parsed.success && message.id ? { kind: 'fact', id: message.id, fact: parsed.data } : undefined;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function hasEnded(requests: Requests, runId: string, signal: AbortSignal | undefined): Promise<boolean> {
  const run = await requests.json<RunView>({ method: 'GET', path: `/v1/runs/${encodeURIComponent(runId)}`, signal });
  return run.status === 'ended';
}
