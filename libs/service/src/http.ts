/**
 * The HTTP server that every service has: zod on every route, problem documents, health, metrics, OpenAPI.
 * Liveness asks nothing but the process; readiness asks the given checks and says 503 while the service drains.
 *
 * A service that drains serves on and parts with its clients: every answer closes its connection, so they go elsewhere with
 * their next request. Connections that are still idle when it stops are closed then and no sooner: whoever uses one would
 * send a request into a connection that is just going.
 */
import fastify, { LogController, type FastifyBaseLogger, type FastifyInstance, type RawServerDefault } from 'fastify';
import swagger from '@fastify/swagger';
import {
  jsonSchemaTransform,
  serializerCompiler,
  validatorCompiler,
  type ZodTypeProvider,
} from 'fastify-type-provider-zod';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { collectDefaultMetrics, Histogram, Registry as MetricsRegistry } from 'prom-client';
import { problem } from '@pawl/contracts';
import { takeJsonBodies } from './json-body.ts';
import type { Log } from './log.ts';
import { createErrorHandler, sendProblem } from './problems.ts';
import type { Part } from './run-service.ts';

export type Http = FastifyInstance<
  RawServerDefault,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  ZodTypeProvider
>;

export type HttpOptions = {
  /** The service's name, as OpenAPI shows it. */
  name: string;
  log: Log;
  /** Bytes of a request's body at the most. Default 1 MiB. */
  bodyLimitBytes?: number;
  /** How long requests under way may go on once the listening stops; then their connections are cut. Default 10 s. */
  closeWithinMs?: number;
  /** What has to be there for the service to work, by name. */
  checks: Record<string, () => boolean | Promise<boolean>>;
};

export type HttpServer = {
  http: Http;
  /** Where services register their own counters and histograms. */
  metrics: MetricsRegistry;
  /** The listening as a part of a service: the last to start and the first to stop. */
  listen(address: { host: string; port: number }): Part & { url(): string };
};

/** Makes the server; routes are added to `http` before it listens. */
export async function createHttp(options: HttpOptions): Promise<HttpServer> {
  const answerError = createErrorHandler(options.log);
  const logger: FastifyBaseLogger = options.log;
  const http: Http = fastify({
    bodyLimit: options.bodyLimitBytes ?? 1_048_576,
    loggerInstance: logger,
    logController: new LogController({ disableRequestLogging: true }),
    forceCloseConnections: 'idle',
    routerOptions: { maxParamLength: 500 },
    frameworkErrors: (error, request, reply) => void answerError(error, request, reply),
  }).withTypeProvider<ZodTypeProvider>();
  http.setValidatorCompiler(validatorCompiler);
  http.setSerializerCompiler(serializerCompiler);
  http.setErrorHandler(answerError);
  takeJsonBodies(http);
  http.setNotFoundHandler((request, reply) =>
    sendProblem(reply, problem('not_found', `there is no ${request.method} ${request.url.split('?')[0]}`)),
  );
  await http.register(swagger, {
    openapi: { info: { title: options.name, version: '1' } },
    transform: jsonSchemaTransform,
  });

  const metrics = new MetricsRegistry();
  collectDefaultMetrics({ register: metrics });
  measureRequests(http, metrics);
  const drain = createDrain(http);
  http.get('/healthz/live', { schema: { hide: true } }, async () => ({ status: 'ok' }));
  http.get('/healthz/ready', { schema: { hide: true } }, async (_request, reply) => {
    const checks = await runChecks(options.checks);
    const isReady = !drain.isOn() && Object.values(checks).every(Boolean);
    return reply
      .code(isReady ? 200 : 503)
      .send({ status: isReady ? 'ok' : drain.isOn() ? 'draining' : 'waiting', checks });
  });
  http.get('/metrics', { schema: { hide: true } }, async (_request, reply) =>
    reply.type(metrics.contentType).send(await metrics.metrics()),
  );
  http.get('/openapi.json', { schema: { hide: true } }, async () => http.swagger());

  return {
    http,
    metrics,
    listen: (address) => ({
      name: 'http',
      async start() {
        await http.listen(address);
        options.log.info({ port: portOf(http) }, 'listening');
      },
      drain: drain.begin,
      async stop() {
        drain.end();
        const cutOff = setTimeout(() => http.server.closeAllConnections(), options.closeWithinMs ?? 10_000);
        await http.close().finally(() => clearTimeout(cutOff));
      },
      url: () => `http://127.0.0.1:${portOf(http)}`,
    }),
  };
}

/** Seconds, as the OpenTelemetry conventions advise for HTTP servers. */
const requestBuckets = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** Names follow the OpenTelemetry conventions. Probes and scrapes are not measured: they would outweigh all else. */
function measureRequests(http: Http, metrics: MetricsRegistry): void {
  const duration = new Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Duration of requests, streams included, by the pattern of their path',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
    buckets: requestBuckets,
    registers: [metrics],
  });
  http.addHook('onResponse', async (request, reply) => {
    const route = request.routeOptions.url ?? 'none';
    if (route.startsWith('/healthz/') || route === '/metrics') return;
    const labels = { http_request_method: request.method, http_route: route };
    duration.observe({ ...labels, http_response_status_code: String(reply.statusCode) }, reply.elapsedTime / 1_000);
  });
}

/** How clients are parted with, see the head of this file. */
type Drain = {
  isOn(): boolean;
  begin(): void;
  /** From now on a connection is closed as soon as it is idle. */
  end(): void;
};

function createDrain(http: Http): Drain {
  const is = { on: false, stopping: false };
  const open = new Set<ServerResponse>();
  http.server.prependListener('request', (_request, response) => {
    if (is.on) response.shouldKeepAlive = false;
    open.add(response);
    response.once('close', () => {
      open.delete(response);
      // The connection is idle a moment later.
      if (is.stopping) setImmediate(() => http.server.closeIdleConnections());
    });
  });
  const begin = () => {
    is.on = true;
    for (const response of open) response.shouldKeepAlive = false;
  };
  return {
    isOn: () => is.on,
    begin,
    end() {
      begin();
      is.stopping = true;
    },
  };
}

function portOf(http: Http): number {
  const address = http.server.address();
  return typeof address === 'object' && address ? address.port : 0;
}

async function runChecks(checks: HttpOptions['checks']): Promise<Record<string, boolean>> {
  const results = await Promise.all(
    Object.entries(checks).map(async ([name, check]) => {
      const isFine = await Promise.race([
        Promise.resolve()
          .then(check)
          .catch(() => false),
        new Promise<boolean>((resolve) => setTimeout(resolve, 2_000, false).unref()),
      ]);
      return [name, isFine] as const;
    }),
  );
  return Object.fromEntries(results);
}
