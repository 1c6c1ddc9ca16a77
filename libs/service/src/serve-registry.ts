/**
 * `PUT/GET/DELETE /v1/<kinds>[/{name}]` for the kinds of object that a service looks after.
 * An app's key reaches its own app's objects; the admin key takes the app from the object, or from `?app=`.
 */
import { z } from 'zod';
import type { Registry } from '@pawl/bus';
import {
  objectNameSchema,
  registryObjectSchema,
  registryPaths,
  RejectedError,
  type RegistryKind,
  type RegistryObject,
  type Revisioned,
} from '@pawl/contracts';
import type { FastifyRequest } from 'fastify';
import type { Authorizer } from './authorize.ts';
import { guard } from './guards.ts';
import type { Http } from './http.ts';

export type RegistryRoutes = {
  registry: Registry;
  authorizer: Authorizer;
  kinds: RegistryKind[];
  /** Refuses, with `RejectedError`, what the schema alone can't see. */
  validate?(object: RegistryObject): void | Promise<void>;
};

const nameParams = z.object({ name: z.string().min(1).max(100) });
const appQuery = z.object({ app: objectNameSchema.optional() });

/** Adds the routes of `options.kinds`. PUT is idempotent: the same content keeps its revision. */
export function serveRegistry(http: Http, options: RegistryRoutes): void {
  for (const kind of options.kinds) serveKind(http, kind, options);
}

function serveKind(http: Http, kind: RegistryKind, options: RegistryRoutes): void {
  const { registry, authorizer } = options;
  const path = `/v1/${registryPaths[kind]}`;
  const onRequest = guard(authorizer, 'registry');
  const appOf = (request: FastifyRequest<{ Querystring: { app?: string | undefined } }>): string => {
    const caller = authorizer.authorize(request, 'registry');
    if (caller.kind === 'app') {
      if (request.query.app === undefined || request.query.app === caller.app) return caller.app;
      throw new RejectedError('forbidden', `the key belongs to app ${caller.app}`);
    }
    if (request.query.app) return request.query.app;
    throw new RejectedError('invalid_request', 'the admin key needs ?app=<name>');
  };
  const find = (app: string, name: string): Revisioned => {
    const found = registry.find(kind, app, name);
    if (!found) throw new RejectedError('not_found', `there is no ${kind} ${name}`);
    return found;
  };

  http.put(`${path}/:name`, { onRequest, schema: { params: nameParams } }, async (request) => {
    const caller = authorizer.authorize(request, 'registry');
    const object = parseObject(kind, request.body);
    const { app, name } = object.metadata;
    if (name !== request.params.name) {
      throw new RejectedError('invalid_request', `the path says ${request.params.name}, metadata.name says ${name}`);
    }
    if (caller.kind === 'app' && caller.app !== app) {
      throw new RejectedError('forbidden', `the key belongs to app ${caller.app}, metadata.app says ${app}`);
    }
    await options.validate?.(object);
    return viewOf(await registry.put(object));
  });
  http.get(path, { onRequest, schema: { querystring: appQuery } }, async (request) => ({
    items: registry.list(kind, appOf(request)).map(viewOf),
  }));
  const one = { onRequest, schema: { params: nameParams, querystring: appQuery } };
  http.get(`${path}/:name`, one, async (request) => viewOf(find(appOf(request), request.params.name)));
  http.delete(`${path}/:name`, one, async (request, reply) => {
    const app = appOf(request);
    find(app, request.params.name);
    await registry.remove(kind, app, request.params.name);
    return reply.code(204).send();
  });
}

function viewOf(revisioned: Revisioned): object {
  return { ...revisioned.object, revision: revisioned.revision, updatedAt: revisioned.updatedAt };
}

function parseObject(kind: RegistryKind, body: unknown): RegistryObject {
  const parsed = registryObjectSchema.safeParse(body);
  if (!parsed.success) throw new RejectedError('invalid_request', describe(parsed.error));
  if (parsed.data.kind !== kind) {
    throw new RejectedError('invalid_request', `this path takes ${kind}, the body is a ${parsed.data.kind}`);
  }
  return parsed.data;
}

function describe(error: z.ZodError): string {
  return error.issues.map((issue) => `${issue.path.join('.') || 'object'}: ${issue.message}`).join('; ');
}
