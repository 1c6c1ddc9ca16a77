/** A real HTTP server with tools for tests: it counts what it is asked and answers after the time that the path says. */
import { fastify } from 'fastify';

export type ToolServer = {
  url: string;
  /** Requests in the order of their arrival. */
  calls: { path: string; query: Record<string, unknown>; headers: Record<string, unknown> }[];
  stop(): Promise<void>;
};

/** `GET /wait/:ms` answers `{waited: ms, query}` after that time. */
export async function startToolServer(): Promise<ToolServer> {
  const server = fastify({ forceCloseConnections: true });
  const calls: ToolServer['calls'] = [];
  server.get<{ Params: { ms: string } }>('/wait/:ms', async (request) => {
    const query = request.query as Record<string, unknown>;
    calls.push({ path: request.url, query, headers: request.headers });
    await new Promise((resolve) => setTimeout(resolve, Number(request.params.ms)));
    return { waited: Number(request.params.ms), query };
  });
  const url = await server.listen({ host: '127.0.0.1', port: 0 });
  return { url, calls, stop: () => server.close() };
}
