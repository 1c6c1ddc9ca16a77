/**
 * The stand-in's server: builds it from scripts or from functions, starts and stops it.
 */
import { type FastifyInstance, fastify } from 'fastify';
import type { SimModel } from './completion/reply.ts';
import { registerChatCompletions } from './http/chat-completions.ts';
import { faultModels } from './faults/fault-models.ts';
import { ChatError, errorBody, toChatError } from './http/errors.ts';
import { type SimRequest, createMeter } from './meter.ts';
import { loadScripts } from './script/load-script.ts';

const BODY_MAX_BYTES = 64 * 1024 * 1024;

export interface SimOptions {
  /** Paths of YAML script files. */
  scripts?: readonly string[];
  /** Models given as functions, for tests; they win over a script's model of the same name. */
  models?: Readonly<Record<string, SimModel>>;
  /** Default 127.0.0.1. */
  host?: string;
  /** Default 0: any free port. */
  port?: number;
}

export interface Sim {
  /** Loads the scripts and listens. `url` has no path: the API is under `${url}/v1`. Rejects with ScriptError. */
  start(): Promise<{ url: string }>;
  /** Closes every connection, also streams under way. Safe to repeat. */
  stop(): Promise<void>;
  /** The latest finished requests with their usage, oldest first (at most 10,000). */
  readonly requests: SimRequest[];
  /** Number of finished requests since the start. */
  readonly requestCount: number;
}

/** Makes a stand-in without starting it. */
export function createSim(options: SimOptions): Sim {
  const meter = createMeter();
  let server: FastifyInstance | undefined;
  return {
    async start() {
      const models = new Map<string, SimModel>(Object.entries(faultModels));
      for (const [name, model] of await loadScripts(options.scripts ?? [])) models.set(name, model);
      for (const [name, model] of Object.entries(options.models ?? {})) models.set(name, model);
      server = createServer(models, meter);
      const url = await server.listen({ host: options.host ?? '127.0.0.1', port: options.port ?? 0 });
      return { url };
    },
    async stop() {
      await server?.close();
      server = undefined;
    },
    get requests() {
      return meter.requests();
    },
    get requestCount() {
      return meter.count();
    },
  };
}

function createServer(models: ReadonlyMap<string, SimModel>, meter: ReturnType<typeof createMeter>): FastifyInstance {
  const server = fastify({ bodyLimit: BODY_MAX_BYTES, forceCloseConnections: true });
  server.setErrorHandler((error, _request, reply) => {
    const chatError = toChatError(error);
    return reply.status(chatError.status).headers(chatError.headers).send(errorBody(chatError));
  });
  server.setNotFoundHandler((request, reply) => {
    const message = `${request.method} ${request.url} is not here; there are POST /v1/chat/completions and GET /v1/models`;
    return reply.status(404).send(errorBody(new ChatError({ status: 404, code: 'not_found', message })));
  });
  server.get('/v1/models', () => ({
    object: 'list',
    data: [...models.keys()]
      .filter((id) => !Object.hasOwn(faultModels, id))
      .map((id) => ({ id, object: 'model', created: 0, owned_by: 'pawl-sim' })),
  }));
  registerChatCompletions(server, models, meter);
  return server;
}
