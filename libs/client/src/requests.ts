/** Sending one request with the key, repeated while nobody answers. */
import { errorOf, isPassing, PawlError } from './pawl-error.ts';

const triesMax = 4;
const firstPauseMs = 200;

export type Call = {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With query, beginning with `/`. */
  path: string;
  body?: unknown;
  /** The body as JSON text, in place of `body`: every digit arrives as it is. */
  bodyText?: string;
  headers?: Record<string, string>;
  signal?: AbortSignal | undefined;
  /** Sent one time only: repeating it would do it again. */
  isOnce?: boolean;
};

export type Requests = {
  /** The answer, when it is a success. Throws `PawlError`. */
  open(call: Call): Promise<Response>;
  /** The JSON of the answer. What may safely be repeated is tried four times within about three seconds. */
  json<T>(call: Call): Promise<T>;
};

export function createRequests(options: { baseUrl: string; key: string }): Requests {
  const base = options.baseUrl.replace(/(?<!\/)\/+$/, '');

  const open = async (call: Call): Promise<Response> => {
    const body = call.bodyText ?? (call.body === undefined ? undefined : JSON.stringify(call.body));
    const response = await fetch(`${base}${call.path}`, {
      method: call.method,
      headers: {
        authorization: `Bearer ${options.key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
        ...call.headers,
      },
      ...(body !== undefined && { body }),
      ...(call.signal && { signal: call.signal }),
    }).catch((error: unknown) => {
      call.signal?.throwIfAborted();
      throw unreachable(base, error);
    });
    if (response.ok) return response;
    throw await errorOf(response);
  };

  const tryJson = async <T>(call: Call): Promise<T> => {
    const response = await open(call);
    try {
      return (await response.json()) as T;
    } catch (error) {
      call.signal?.throwIfAborted();
      throw new PawlError({ status: 0, code: 'unreachable', detail: `the answer of ${base} broke off` }, error);
    }
  };

  return {
    open,
    async json<T>(call: Call) {
      for (let tries = 1; ; tries += 1) {
        try {
          return await tryJson<T>(call);
        } catch (error) {
          if (call.isOnce || tries >= triesMax || !isPassing(error)) throw error;
          await pause(firstPauseMs * 3 ** (tries - 1), call.signal);
        }
      }
    },
  };
}

function unreachable(base: string, error: unknown): PawlError {
  const reason = error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
  return new PawlError({ status: 0, code: 'unreachable', detail: `${base} does not answer: ${reason}` }, error);
}

/** Waits; throws the signal's reason when it is aborted meanwhile. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => (clearTimeout(timer), resolve()), { once: true });
  });
  signal?.throwIfAborted();
}
