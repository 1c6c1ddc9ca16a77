import { describe, expect, test } from 'vitest';
import { importOpenApi, openApiSchema } from './import-openapi.ts';

const order = {
  type: 'object',
  properties: {
    amount: { type: 'number', minimum: 0, exclusiveMinimum: true },
    note: { type: 'string', nullable: true },
    parent: { $ref: '#/components/schemas/Order' },
  },
  required: ['amount'],
};
const document = (paths: Record<string, unknown>) =>
  openApiSchema.parse({
    openapi: '3.0.3',
    servers: [{ url: 'https://shop.example/api/' }],
    paths,
    components: {
      schemas: { Order: order },
      parameters: { Page: { name: 'page', in: 'query', schema: { type: 'integer' } } },
    },
  });
const options = { app: 'demo', prefix: '', baseUrl: undefined, headers: { Authorization: 'Bearer ${secret:SHOP}' } };
const json = (schema: unknown) => ({ requestBody: { content: { 'application/json': { schema } } } });

describe('import of OpenAPI', () => {
  test('a reading operation takes its path and query, and carries the headers', () => {
    const path = { parameters: [{ name: 'id', in: 'path', required: true, schema: { type: 'string' } }] };
    const get = {
      operationId: 'getOrder',
      summary: 'One order.',
      parameters: [{ $ref: '#/components/parameters/Page' }],
    };
    const { tools, warnings } = importOpenApi(document({ '/orders/{id}': { ...path, get } }), options);
    expect(warnings).toEqual([]);
    expect(tools).toMatchObject([
      {
        metadata: { app: 'demo', name: 'getOrder' },
        spec: {
          description: 'One order.',
          effect: 'read',
          parameters: { properties: { id: { type: 'string' }, page: { type: 'integer' } }, required: ['id'] },
          http: { method: 'GET', url: 'https://shop.example/api/orders/{id}', headers: options.headers },
        },
      },
    ]);
  });

  test('a writing operation takes the members of its body, with what the schemas refer to', () => {
    const post = {
      operationId: 'pay',
      parameters: [{ name: 'dry', in: 'query', required: true, schema: { type: 'boolean' } }],
      ...json({ $ref: '#/components/schemas/Order' }),
    };
    const [tool] = importOpenApi(document({ '/orders': { post } }), options).tools;
    expect(tool?.spec).toMatchObject({
      effect: 'write',
      http: { method: 'POST', url: 'https://shop.example/api/orders?dry={dry}' },
    });
    const converted = {
      amount: { type: 'number', exclusiveMinimum: 0 },
      note: { type: ['string', 'null'] },
      parent: { $ref: '#/$defs/Order' },
    };
    expect(tool?.spec.parameters).toMatchObject({
      properties: { dry: { type: 'boolean' }, ...converted },
      required: ['dry', 'amount'],
      $defs: { Order: { properties: converted } },
    });
  });

  test('C6: what can not be a tool costs itself alone, with one sentence', () => {
    const { tools, warnings } = importOpenApi(
      document({
        '/ok': { get: {} },
        '/file': { post: { requestBody: { content: { 'multipart/form-data': {} } } } },
        '/list': { post: json({ type: 'array' }) },
        '/away': { post: json({ type: 'object', properties: { a: { $ref: 'https://evil.example/x' } } }) },
        '/cookie': { get: { parameters: [{ name: 's', in: 'cookie', required: true }] } },
      }),
      options,
    );
    expect(tools.map(({ metadata }) => metadata.name)).toEqual([expect.stringMatching(/^get__ok_[0-9a-f]{8}$/)]);
    expect(warnings).toHaveLength(4);
  });

  test('C16: names that models take, and no two the same', () => {
    const paths = Object.fromEntries(
      ['/a/b', '/a-b', '/a_b', `/${'x'.repeat(80)}1`, `/${'x'.repeat(80)}2`].map((path) => [path, { get: {} }]),
    );
    const names = importOpenApi(document(paths), options).tools.map(({ metadata }) => metadata.name);
    expect(new Set(names).size).toBe(5);
  });
});
