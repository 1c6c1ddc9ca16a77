/**
 * One host for the four services, for development only; in production an ingress does this. It only forwards: no key is
 * checked here, nothing is buffered, and no limit is lower than the services' own.
 */
import proxy from '@fastify/http-proxy';
import { problem } from '@pawl/contracts';
import { fastify } from 'fastify';
import { createServer } from 'node:net';
import { once } from 'node:events';
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
 * Listens on the loopback addresses; services may come and go behind it.
 * @throws DevstackError when the port is taken.
 */
export async function openFrontDoor(urls: ServiceUrls, options: FrontDoorOptions): Promise<FrontDoor> {
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
  await refuseTakenPort(options);
  try {
    // `localhost` is 127.0.0.1 and, where the system has it, ::1.
    await server.listen({ port: options.port, host: 'localhost' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') throw portTaken(options);
    throw error;
  }
  return { url: `http://localhost:${options.port}`, stop: () => server.close() };
}

/** The server itself reports only its first address; a stranger on the other one would answer half of the browsers. */
async function refuseTakenPort(options: FrontDoorOptions): Promise<void> {
  for (const host of ['127.0.0.1', '::1']) {
    const trial = createServer();
    try {
      trial.listen({ port: options.port, host });
      await once(trial, 'listening');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EADDRINUSE') throw portTaken(options);
      if ((error as NodeJS.ErrnoException).code === 'EACCES') {
        throw new DevstackError(
          `This user may not use port ${options.port}. Choose one above 1024: ${options.command} -- --port 7300`,
        );
      }
      continue;
    }
    trial.close();
    await once(trial, 'close');
  }
}

function portTaken({ port, command }: FrontDoorOptions): DevstackError {
  return new DevstackError(
    `Port ${port} is already in use by another program. Choose another one: ${command} -- --port ${port + 10}`,
  );
}
