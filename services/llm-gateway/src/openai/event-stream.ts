/** Server-sent events to an HTTP client. The head goes out with the first event, so an error before it is a plain answer. */
import type { ServerResponse } from 'node:http';
import type { FastifyReply } from 'fastify';

export type EventStream = {
  hasBegun(): boolean;
  /** Sends the head now. */
  begin(): void;
  send(data: object | '[DONE]', event?: string): void;
  /** A comment, which clients skip: it keeps the connection open. */
  keepAlive(): void;
  end(): void;
};

/** `headers`: of the response, beside those of an event stream. */
export function createEventStream(reply: FastifyReply, headers: Record<string, string>): EventStream {
  const response: ServerResponse = reply.raw;
  let hasBegun = false;
  const begin = () => {
    if (hasBegun) return;
    hasBegun = true;
    reply.hijack();
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache, no-transform',
      'x-accel-buffering': 'no',
      ...headers,
    });
  };
  const write = (text: string) => {
    begin();
    if (!response.destroyed) response.write(text);
  };
  return {
    hasBegun: () => hasBegun,
    begin() {
      begin();
      response.flushHeaders();
    },
    send(data, event) {
      const line = data === '[DONE]' ? data : JSON.stringify(data);
      write(event === undefined ? `data: ${line}\n\n` : `event: ${event}\ndata: ${line}\n\n`);
    },
    keepAlive: () => write(': \n\n'),
    end: () => void response.end(),
  };
}
