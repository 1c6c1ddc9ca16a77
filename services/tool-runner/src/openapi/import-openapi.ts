/**
 * From an OpenAPI 3.x document to tools of kind `http`, one per operation. Pure. An operation that can't be a tool is left out with
 * a sentence, and takes nothing else with it.
 */
import { sha256, toolSchema, type Tool } from '@pawl/contracts';
import { z } from 'zod';
import { OpenApiError, standAlone, type Components } from './local-schemas.ts';

const parameterSchema = z.looseObject({
  name: z.string().min(1),
  in: z.string(),
  required: z.boolean().optional(),
  description: z.string().optional(),
  schema: z.unknown().optional(),
});
const operationSchema = z.looseObject({
  operationId: z.string().optional(),
  summary: z.string().optional(),
  description: z.string().optional(),
  parameters: z.array(z.unknown()).optional(),
  requestBody: z
    .looseObject({ content: z.record(z.string(), z.looseObject({ schema: z.unknown().optional() })) })
    .optional(),
});
export const openApiSchema = z.looseObject({
  openapi: z.string().regex(/^3\.\d+(\.\d+)?/, 'has to be an OpenAPI 3.x document'),
  servers: z.array(z.looseObject({ url: z.string() })).optional(),
  paths: z.record(z.string(), z.record(z.string(), z.unknown())),
  components: z
    .looseObject({
      schemas: z.record(z.string(), z.unknown()).optional(),
      parameters: z.record(z.string(), z.unknown()).optional(),
    })
    .optional(),
});

export type ImportOptions = {
  app: string;
  /** Put before the names of tools. */
  prefix: string;
  /** In the place of the document's first server. */
  baseUrl: string | undefined;
  /** Headers of every tool; values may hold `${secret:NAME}`. */
  headers: Record<string, string> | undefined;
};

const methods = ['get', 'post', 'put', 'patch', 'delete'] as const;
type Method = (typeof methods)[number];
type Parameter = z.infer<typeof parameterSchema>;
type Operation = { path: string; method: Method; raw: unknown; shared: readonly unknown[] };

export function importOpenApi(
  document: z.infer<typeof openApiSchema>,
  options: ImportOptions,
): { tools: Tool[]; warnings: string[] } {
  const tools: Tool[] = [];
  const warnings: string[] = [];
  const base = options.baseUrl ?? document.servers?.[0]?.url ?? '';
  for (const operation of operationsOf(document)) {
    try {
      tools.push(toolOf(operation, { document, options, base }));
    } catch (error) {
      if (!(error instanceof OpenApiError) && !(error instanceof z.ZodError)) throw error;
      const reason = error instanceof z.ZodError ? (error.issues[0]?.message ?? 'broken') : error.message;
      warnings.push(`${operation.method.toUpperCase()} ${operation.path} is left out: ${reason}.`);
    }
  }
  return { tools, warnings };
}

function operationsOf({ paths }: z.infer<typeof openApiSchema>): Operation[] {
  return Object.entries(paths).flatMap(([path, item]) => {
    const shared = Array.isArray(item['parameters']) ? (item['parameters'] as unknown[]) : [];
    return methods
      .filter((method) => item[method] !== undefined)
      .map((method) => ({ path, method, raw: item[method], shared }));
  });
}

type Context = { document: z.infer<typeof openApiSchema>; options: ImportOptions; base: string };

function toolOf({ path, method, raw, shared }: Operation, { document, options, base }: Context): Tool {
  const operation = operationSchema.parse(raw);
  const components: Components = new Map(Object.entries(document.components?.schemas ?? {}));
  const parameters = [...shared, ...(operation.parameters ?? [])].map((each) => parameterOf(each, document));
  const hasBody = method !== 'get' && method !== 'delete';
  const query = hasBody ? parameters.filter((each) => each.in === 'query' && each.required === true) : [];
  const schema = argumentsSchema(parameters, { body: hasBody ? bodyOf(operation) : undefined, hasBody, components });
  const inQuery = query.map(({ name }) => `${encodeURIComponent(name)}={${name}}`).join('&');
  const { app, prefix, headers } = options;
  return toolSchema.parse({
    apiVersion: 'pawl.dev/v1',
    kind: 'Tool',
    metadata: { app, name: nameOf(prefix, operation.operationId ?? `${method}_${path}`) },
    spec: {
      description: (operation.description ?? operation.summary ?? `${method.toUpperCase()} ${path}`).slice(0, 10_000),
      parameters: schema,
      effect: method === 'get' ? 'read' : 'write',
      http: {
        method: method.toUpperCase(),
        url: `${base.replace(/\/$/, '')}${path}${inQuery === '' ? '' : `?${inQuery}`}`,
        ...(headers ? { headers } : {}),
      },
    },
  });
}

function parameterOf(raw: unknown, document: Context['document']): Parameter {
  const reference = typeof raw === 'object' && raw !== null && '$ref' in raw ? raw.$ref : undefined;
  if (typeof reference !== 'string') return parameterSchema.parse(raw);
  const name = /^#\/components\/parameters\/(.+)$/.exec(reference)?.[1];
  const found = name === undefined ? undefined : document.components?.parameters?.[name];
  if (found === undefined) throw new OpenApiError(`there is no parameter ${reference.slice(0, 200)}`);
  return parameterSchema.parse(found);
}

function bodyOf(operation: z.infer<typeof operationSchema>): unknown {
  if (!operation.requestBody) return undefined;
  const json = Object.entries(operation.requestBody.content).find(([type]) =>
    /^application\/([\w.+-]*\+)?json\b/.test(type),
  );
  if (!json) throw new OpenApiError('its body is not JSON');
  return json[1].schema;
}

type Arguments = { body: unknown; hasBody: boolean; components: Components };

/** What the address takes, and the members of the body, side by side. */
function argumentsSchema(
  parameters: readonly Parameter[],
  { body, hasBody, components }: Arguments,
): Record<string, unknown> {
  const unfit = parameters.find(
    ({ in: place, required }) => required === true && place !== 'path' && place !== 'query',
  );
  if (unfit) throw new OpenApiError(`it needs the ${unfit.in} parameter ${unfit.name}, which a tool can't give`);
  // Beside a body, only what is required has a fixed place in the address.
  const taken = parameters.filter(
    ({ in: place, required }) => place === 'path' || (place === 'query' && (!hasBody || required === true)),
  );
  const ofAddress = {
    type: 'object',
    properties: Object.fromEntries(
      taken.map(({ name, schema, description }) => [
        name,
        { ...(schema as object), ...(description ? { description } : {}) },
      ]),
    ),
    required: taken.filter(({ in: place, required }) => place === 'path' || required === true).map(({ name }) => name),
  };
  if (body === undefined) return standAlone(ofAddress, components);
  const members = resolved(body, components);
  if (members['type'] !== undefined && members['type'] !== 'object') throw new OpenApiError('its body is no object');
  const { properties = {}, required = [] } = members as { properties?: object; required?: string[] };
  const clash = taken.find(({ name }) => Object.hasOwn(properties, name));
  if (clash) throw new OpenApiError(`${clash.name} is both in the address and in the body`);
  return standAlone(
    {
      ...members,
      type: 'object',
      properties: { ...ofAddress.properties, ...properties },
      required: [...ofAddress.required, ...required],
    },
    components,
  );
}

function resolved(body: unknown, components: Components): Record<string, unknown> {
  let schema = body;
  for (let hops = 0; hops < 10; hops += 1) {
    if (typeof schema !== 'object' || schema === null) throw new OpenApiError('its body has no schema');
    if (!('$ref' in schema) || typeof schema.$ref !== 'string') return schema as Record<string, unknown>;
    schema = components.get(schema.$ref.replace(/^#\/components\/schemas\//, ''));
  }
  throw new OpenApiError('its body refers to itself');
}

const nameCharsMax = 64;

/** Safe for models; with a hash where something was lost. */
function nameOf(prefix: string, id: string): string {
  const plain = `${prefix}${id}`.replaceAll(/[^A-Za-z0-9_-]+/g, '_').replaceAll(/^_+|(?<!_)_+$/g, '');
  if (plain === `${prefix}${id}` && plain.length <= nameCharsMax) return plain;
  return `${plain.slice(0, nameCharsMax - 9)}_${sha256(`${prefix}${id}`).slice(0, 8)}`;
}
