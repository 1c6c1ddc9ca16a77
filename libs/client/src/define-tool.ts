/**
 * A tool in TypeScript that runs as a worker on NATS: its declaration and its code in one place.
 * The wire is described in `docs/nats-workers.md`; any language can speak it. A worker never begins a call that nobody waits
 * for any more, and tells the code by `signal` when the wait is over.
 */
import type { MsgHdrs, NatsConnection, Msg } from '@nats-io/nats-core';
import { headers } from '@nats-io/nats-core';
import { subjects, toolSchema, type Tool } from '@pawl/contracts';
import { z } from 'zod';

/** What the code learns about a call beside its arguments. */
export type ToolCallContext = {
  app: string;
  /** Absent when the tool is only tried. */
  runId: string | undefined;
  /** The same for every try of the same effect; present on writes. */
  idempotencyKey: string | undefined;
  /** Unix time in milliseconds. */
  deadlineAtMs: number;
  /** Aborted when the call is cancelled or its time is over. */
  signal: AbortSignal;
  /** W3C `traceparent` of the call. */
  traceparent: string | undefined;
  /** The arguments as JSON text, with every digit of numbers beyond 2^53. */
  argsText: string;
};

export type ToolWorkerDefinition<P extends z.ZodObject> = {
  app: string;
  name: string;
  description: string;
  subject: string;
  parameters: P;
  /** Default `read`. */
  effect?: 'read' | 'write';
  /** Whether the same `idempotencyKey` may be sent twice. Default: reads yes, writes no. */
  idempotent?: boolean;
  /** For example `30s`. */
  timeout?: string;
  /** Gives something that JSON can hold. Throws `ToolRefusal` for what the model can correct. */
  run(args: z.infer<P>, call: ToolCallContext): unknown;
};

export type ServeOptions = {
  /** Calls under way at once; more wait. Default 16. */
  concurrency?: number;
  /** Told of what the code threw, other than `ToolRefusal`. */
  onError?: (error: unknown) => void;
};

export type ToolWorker = {
  /** The declaration, to be put to `/v1/tools/{name}`. */
  object: Tool;
  /** Listens until the returned function is called, which waits for the calls that are under way. */
  serve(connection: NatsConnection, options?: ServeOptions): () => Promise<void>;
};

/** The tool did nothing, and says why. `code` as in HTTP, 400 to 499. */
export class ToolRefusal extends Error {
  override readonly name = 'ToolRefusal';
  readonly code: number;
  constructor(message: string, code = 400) {
    super(message);
    this.code = code;
  }
}

/** Throws when the declaration is not valid. */
export function defineTool<P extends z.ZodObject>(definition: ToolWorkerDefinition<P>): ToolWorker {
  const { app, name, description, subject, effect, idempotent, timeout } = definition;
  const object = toolSchema.parse({
    apiVersion: 'pawl.dev/v1',
    kind: 'Tool',
    metadata: { app, name },
    spec: {
      description,
      parameters: z.toJSONSchema(definition.parameters, { io: 'input' }),
      ...(effect === undefined ? {} : { effect }),
      ...(idempotent === undefined ? {} : { idempotent }),
      ...(timeout === undefined ? {} : { timeout }),
      nats: { subject },
    },
  });
  return { object, serve: (connection, options = {}) => serve(connection, definition, options) };
}

type Waiting = { message: Msg; callId: string; controller: AbortController };

function serve<P extends z.ZodObject>(
  connection: NatsConnection,
  definition: ToolWorkerDefinition<P>,
  { concurrency = 16, onError = () => {} }: ServeOptions,
): () => Promise<void> {
  const calls = new Map<string, Waiting>();
  const waiting: Waiting[] = [];
  const underWay = new Set<Promise<void>>();
  const beginNext = () => {
    while (underWay.size < concurrency) {
      const next = waiting.shift();
      if (!next) return;
      const done = answer(connection, definition, { ...next, onError }).finally(() => {
        calls.delete(next.callId);
        underWay.delete(done);
        beginNext();
      });
      underWay.add(done);
    }
  };
  // Before the calls themselves, so that no cancel can come too early.
  const cancels = connection.subscribe(subjects.toolCancelled(definition.subject), {
    callback: (_error, message) => calls.get(message.headers?.get('pawl-call-id') ?? '')?.controller.abort(),
  });
  const requests = connection.subscribe(definition.subject, {
    queue: 'pawl-tool',
    callback(error, message) {
      if (error) return onError(error);
      const callId = message.headers?.get('pawl-call-id') ?? '';
      const call = { message, callId, controller: new AbortController() };
      calls.set(callId, call);
      waiting.push(call);
      beginNext();
    },
  });
  return async () => {
    await requests.drain();
    while (underWay.size > 0 || waiting.length > 0) await Promise.all(underWay);
    cancels.unsubscribe();
  };
}

async function answer<P extends z.ZodObject>(
  connection: NatsConnection,
  definition: ToolWorkerDefinition<P>,
  { message, controller, onError }: Waiting & { onError: (error: unknown) => void },
): Promise<void> {
  const deadlineAtMs = Date.parse(message.headers?.get('pawl-deadline') ?? '') || Date.now() + 30_000;
  if (controller.signal.aborted || deadlineAtMs <= Date.now()) return;
  const timer = setTimeout(() => controller.abort(), deadlineAtMs - Date.now());
  try {
    const argsText = message.string();
    const parsed = definition.parameters.safeParse(JSON.parse(argsText === '' ? '{}' : argsText));
    if (!parsed.success) throw new ToolRefusal(z.prettifyError(parsed.error));
    const call = { ...contextOf(message), deadlineAtMs, signal: controller.signal, argsText };
    const result = await definition.run(parsed.data, call);
    const { signal } = controller;
    if (!signal.aborted) await respond(connection, { message, signal, deadlineAtMs }, JSON.stringify(result ?? null));
  } catch (error) {
    if (error instanceof ToolRefusal) respondError(message, error.code, error.message);
    else {
      onError(error);
      respondError(message, 500, error instanceof Error ? error.message : String(error));
    }
  } finally {
    clearTimeout(timer);
  }
}

function contextOf(message: Msg): Pick<ToolCallContext, 'app' | 'runId' | 'idempotencyKey' | 'traceparent'> {
  const header = (name: string) => message.headers?.get(name) || undefined;
  return {
    app: header('pawl-app') ?? '',
    runId: header('pawl-run'),
    idempotencyKey: header('idempotency-key'),
    traceparent: header('traceparent'),
  };
}

/** Parts that were sent and not taken yet, at the most. */
const partsAhead = 4;

type Answering = { message: Msg; signal: AbortSignal; deadlineAtMs: number };

/**
 * In as many parts as the server's largest message asks for. Who asks says that each part will be acknowledged; then no more are sent
 * than are taken, so that a large answer fills nobody's memory.
 */
async function respond(connection: NatsConnection, answering: Answering, text: string): Promise<void> {
  const { message, signal } = answering;
  const bytes = Buffer.from(text);
  const partBytes = (connection.info?.max_payload ?? 1_048_576) - 4_096;
  if (bytes.length <= partBytes) return void message.respond(bytes);
  const partCount = Math.ceil(bytes.length / partBytes);
  const underWay: Promise<unknown>[] = [];
  for (let part = 0; part < partCount && !signal.aborted; part += 1) {
    const piece = bytes.subarray(part * partBytes, (part + 1) * partBytes);
    const told = partHeaders(part, part === partCount - 1);
    if (message.headers?.get('pawl-part-ack') !== 'true') message.respond(piece, { headers: told });
    else underWay.push(acknowledged(connection, answering, { piece, told }));
    if (underWay.length > partsAhead) await underWay.shift();
  }
  await Promise.all(underWay);
}

/** Sends a part and waits until it was taken, or until nobody waits for the answer any more. */
async function acknowledged(
  connection: NatsConnection,
  { message, signal, deadlineAtMs }: Answering,
  { piece, told }: { piece: Uint8Array; told: MsgHdrs },
): Promise<void> {
  const timeout = Math.max(1, deadlineAtMs - Date.now());
  const taken = connection.request(message.reply ?? '', piece, { headers: told, timeout }).catch(() => undefined);
  const { promise: over, resolve } = Promise.withResolvers<void>();
  const onAbort = () => resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  await Promise.race([taken, over]);
  signal.removeEventListener('abort', onAbort);
}

function partHeaders(part: number, isLast: boolean): MsgHdrs {
  const told = headers();
  told.set('pawl-part', String(part));
  if (isLast) told.set('pawl-part-last', 'true');
  return told;
}

function respondError(message: Msg, code: number, text: string): void {
  const told = headers();
  told.set('Nats-Service-Error-Code', String(code));
  told.set('Nats-Service-Error', text.replaceAll(/[\r\n]+/g, ' ').slice(0, 1_000));
  message.respond('', { headers: told });
}
