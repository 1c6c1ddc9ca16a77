/** A real HTTP server with tools for tests: it counts what it is asked and answers when it is told to. */
import { fastify, type FastifyReply, type FastifyRequest } from 'fastify';

export type ToolCallSeen = {
  path: string;
  query: Record<string, unknown>;
  /** Arguments of a POST. */
  body: Record<string, unknown>;
  headers: Record<string, unknown>;
  /** Aborts when the caller leaves before it has its answer. */
  signal: AbortSignal;
};

export type ToolServer = {
  url: string;
  /** Requests in the order of their arrival. */
  calls: ToolCallSeen[];
  /** Answers everything that waits at `/held`, and lets later requests pass until `hold`. */
  release(): void;
  /** Lets requests to `/held` wait. */
  hold(): void;
  stop(): Promise<void>;
};

/**
 * `GET /wait/:ms` answers `{waited: ms, query}` after that time. `POST /done` answers `{done: body}` at once, `POST /held`
 * and `GET /held` when they are released. `POST /nothing` answers the same to everything. `GET /big/:bytes` answers at least that much text.
 */
export async function startToolServer(): Promise<ToolServer> {
  const server = fastify({ forceCloseConnections: true });
  const calls: ToolServer['calls'] = [];
  let gate = Promise.withResolvers<void>();
  const note = (request: FastifyRequest, reply: FastifyReply) => {
    const leave = new AbortController();
    reply.raw.once('close', () => !reply.raw.writableFinished && leave.abort());
    const query = request.query as Record<string, unknown>;
    const body = (request.body ?? {}) as Record<string, unknown>;
    calls.push({ path: request.url, query, body, headers: request.headers, signal: leave.signal });
    return { query, body };
  };
  server.get<{ Params: { ms: string } }>('/wait/:ms', async (request, reply) => {
    const { query } = note(request, reply);
    await new Promise((resolve) => setTimeout(resolve, Number(request.params.ms)));
    return { waited: Number(request.params.ms), query };
  });
  server.post('/done', async (request, reply) => ({ done: note(request, reply).body }));
  server.post('/nothing', async (request, reply) => {
    note(request, reply);
    return { found: [] };
  });
  server.route({
    method: ['GET', 'POST'],
    url: '/held',
    async handler(request, reply) {
      const { query, body } = note(request, reply);
      await gate.promise;
      return { done: { ...query, ...body } };
    },
  });
  server.get<{ Params: { bytes: string } }>('/big/:bytes', async (request, reply) => {
    const { query } = note(request, reply);
    return { query, text: 'All of it. '.repeat(Math.ceil(Number(request.params.bytes) / 11)) };
  });
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  return {
    url,
    calls,
    release: () => gate.resolve(),
    hold: () => void (gate = Promise.withResolvers<void>()),
    stop() {
      gate.resolve();
      return server.close();
    },
  };
}
