/**
 * One host for the four services, for development only; in production an ingress does this. It only forwards: no key is
 * checked here, nothing is buffered, and no limit is lower than the services' own.
 */
import proxy from '@fastify/http-proxy';
import { problem } from '@pawl/contracts';
import { fastify } from 'fastify';
import type { FastifyInstance } from 'fastify';
import { DevstackError } from '../devstack-error.ts';
import { serviceOfPath } from '../services/service-list.ts';
import type { ServiceUrls } from '../services/service-list.ts';

export interface FrontDoor {
  /** With the name `localhost`, as people type it. */
  readonly url: string;
  /** Ends open streams too. */
  stop(): Promise<void>;
}

export interface FrontDoorOptions {
  port: number;
  /** The command to repeat with another port when this one is taken, for example `npm run dev`. */
  command: string;
}

/**
 * Listens on both loopback addresses, where the system has both; services may come and go behind it.
 * @throws DevstackError when the port is taken on one of them.
 */
export async function openFrontDoor(urls: ServiceUrls, options: FrontDoorOptions): Promise<FrontDoor> {
  const servers: FastifyInstance[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(servers.map((server) => server.close()));
  };
  for (const host of ['127.0.0.1', '::1']) {
    const server = await createDoor(urls);
    servers.push(server);
    try {
      await server.listen({ port: options.port, host });
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (host === '::1' && (code === 'EADDRNOTAVAIL' || code === 'EAFNOSUPPORT')) continue;
      await stop();
      throw refusal(code, options) ?? error;
    }
  }
  return { url: `http://localhost:${options.port}`, stop };
}

async function createDoor(urls: ServiceUrls): Promise<FastifyInstance> {
  const server = fastify({ bodyLimit: Number.MAX_SAFE_INTEGER, forceCloseConnections: true, requestTimeout: 0 });
  await server.register(proxy, {
    upstream: '',
    prefix: '/',
    // Bodies pass through as they come; the services limit them.
    proxyPayloads: true,
    // A stream may be silent for as long as a model thinks.
    undici: { headersTimeout: 0, bodyTimeout: 0, connections: 256, pipelining: 1 },
    retryMethods: [],
    maxRetriesOn503: 0,
    replyOptions: {
      getUpstream: (request) => urls[serviceOfPath(request.url ?? '/').key],
      onError: (reply) => {
        const { name } = serviceOfPath(reply.request.url);
        const body = problem('unavailable', `The service ${name} does not answer. Its log is .pawl/logs/${name}.log.`);
        void reply.code(body.status).type('application/problem+json').send(JSON.stringify(body));
      },
    },
  });
  return server;
}

function refusal(code: string | undefined, { port, command }: FrontDoorOptions): DevstackError | undefined {
  const other = port < 1024 ? 7300 : port + 10;
  const way = `Choose another one: ${command} -- --port ${other}`;
  if (code === 'EADDRINUSE') return new DevstackError(`Port ${port} is already in use by another program. ${way}`);
  if (code === 'EACCES') return new DevstackError(`This user may not use port ${port}. ${way}`);
  return undefined;
}
