/** A real HTTP server that speaks OpenAI's stream byte by byte as a test says: for the cases on the wire. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export type SeenRequest = { body: Record<string, unknown>; authorization: string | undefined };

export type ModelServer = {
  /** The API's root, `/v1` included. */
  baseUrl: string;
  seen: SeenRequest[];
  /** Connections that the client has closed in the middle of a response. */
  aborted: number;
  stop(): Promise<void>;
};

export type Respond = (response: ServerResponse, request: SeenRequest) => void | Promise<void>;

export async function startModelServer(respond: Respond): Promise<ModelServer> {
  const server = createServer((request, response) => void handle(request, response));
  const model: ModelServer = {
    baseUrl: '',
    seen: [],
    aborted: 0,
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part as Buffer);
    const seen = { body: JSON.parse(Buffer.concat(parts).toString()), authorization: request.headers.authorization };
    model.seen.push(seen);
    response.on('close', () => {
      if (!response.writableFinished) model.aborted += 1;
    });
    await respond(response, seen);
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  model.baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
  return model;
}

/** The head of an event stream. */
export function openStream(response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
}

export function sendEvent(response: ServerResponse, body: object | '[DONE]'): void {
  response.write(`data: ${body === '[DONE]' ? body : JSON.stringify(body)}\n\n`);
}

/** One chunk of a completion. */
export function chunk(delta: object, finishReason: string | null = null): object {
  return {
    id: 'resp-1',
    object: 'chat.completion.chunk',
    model: 'm',
    choices: [{ index: 0, delta, finish_reason: finishReason }],
  };
}

export function usageChunk(usage: object): object {
  return { id: 'resp-1', object: 'chat.completion.chunk', model: 'm', choices: [], usage };
}

/** A whole answer: text in words, then usage, which keeps the token limit of the request. */
export function answerWith(text: string, usage: { prompt_tokens: number; completion_tokens: number }): Respond {
  return (response, { body }) => {
    const outputTokens = Math.min(usage.completion_tokens, Number(body['max_tokens']));
    openStream(response);
    for (const word of text.split(/(?<= )/)) sendEvent(response, chunk({ content: word }));
    sendEvent(response, chunk({}, 'stop'));
    sendEvent(
      response,
      usageChunk({ ...usage, completion_tokens: outputTokens, total_tokens: usage.prompt_tokens + outputTokens }),
    );
    sendEvent(response, '[DONE]');
    response.end();
  };
}

/** An error as OpenAI tells it. */
export function failWith(status: number, message: string, headers: Record<string, string> = {}): Respond {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(JSON.stringify({ error: { message, type: 'error', code: null } }));
  };
}
