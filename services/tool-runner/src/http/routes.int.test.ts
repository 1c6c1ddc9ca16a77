import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eventually, useTestServers } from '@pawl/testkit';
import { openRunnerBench, toolOf, type RunnerBench } from '../testing/runner-bench.ts';

const servers = useTestServers();
let bench: RunnerBench;

beforeAll(async () => void (bench = await openRunnerBench(servers)));
beforeEach(() => bench.peer.reset());
afterAll(() => bench.close());

describe('over HTTP', () => {
  const call = async (method: string, path: string, body?: string) => {
    const response = await fetch(`${bench.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${bench.appKey}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
    });
    return { status: response.status, text: await response.text() };
  };
  const put = (tool: unknown, name: string) => call('PUT', `/v1/tools/${name}`, JSON.stringify(tool));

  test('a tool can be declared and tried; numbers keep their digits', async () => {
    const tool = toolOf('echo', {
      ...bench.http('/ok', 'POST'),
      parameters: { type: 'object', properties: { id: { type: 'integer' } } },
    });
    expect(await put(tool, 'echo')).toMatchObject({ status: 200 });
    const { status, text } = await call('POST', '/v1/tools/echo/call', '{ "args": { "id": 9007199254740993 } }');
    expect(status).toBe(200);
    expect(text).toContain('"data":{"id":9007199254740993}');
    expect(JSON.parse(text)).toMatchObject({ status: 'ok', error_code: null, source: 'tool:echo', trust: 'untrusted' });
    const wrong = await call('POST', '/v1/tools/echo/call', '{"args":{"id":"x"}}');
    expect(JSON.parse(wrong.text)).toMatchObject({ status: 'error', error_code: 'invalid_arguments' });
  });

  test('a data source can be declared and queried, and is read anew when it changes', async () => {
    const declare = (tables: string[]) =>
      call(
        'PUT',
        '/v1/data-sources/own',
        JSON.stringify({
          apiVersion: 'pawl.dev/v1',
          kind: 'DataSource',
          metadata: { app: 'demo', name: 'own' },
          spec: { postgres: { url: servers.databaseUrl }, tables },
        }),
      );
    const tool = toolOf('ask_sql', {
      sql: { source: 'own', queryArgument: 'query' },
      parameters: { type: 'object', properties: { query: { type: 'string' } }, required: ['query'] },
    });
    expect(await put(tool, 'ask_sql')).toMatchObject({ status: 200 });
    const ask = async () => {
      const query = 'select count(*) as effects from tools.effects';
      const { text } = await call('POST', '/v1/tools/ask_sql/call', JSON.stringify({ args: { query } }));
      return JSON.parse(text) as { status: string; message: string | null; data: { rows: object[] } | null };
    };
    expect(await ask()).toMatchObject({ status: 'error', message: expect.stringContaining('not declared') });
    expect(await declare(['tools.effects'])).toMatchObject({ status: 200 });
    expect(await ask()).toMatchObject({ status: 'ok', data: { rowCount: 1, columns: ['effects'] } });
    expect(await declare(['tools.other'])).toMatchObject({ status: 200 });
    expect(await ask()).toMatchObject({ status: 'error', message: expect.stringContaining('tools.effects') });
  });

  test('data sources and MCP servers are checked when they are declared', async () => {
    const metadata = { app: 'demo', name: 'x' };
    const source = (url: string) =>
      JSON.stringify({ apiVersion: 'pawl.dev/v1', kind: 'DataSource', metadata, spec: { postgres: { url } } });
    expect(await call('PUT', '/v1/data-sources/x', source('mysql://db/x'))).toMatchObject({ status: 400 });
    expect(await call('PUT', '/v1/data-sources/x', source('postgres://u:p@169.254.169.254/x'))).toMatchObject({
      status: 403,
    });
    const server = (spec: Record<string, unknown>) =>
      JSON.stringify({ apiVersion: 'pawl.dev/v1', kind: 'McpServer', metadata, spec });
    expect(await call('PUT', '/v1/mcp-servers/x', server({ command: 'sh' }))).toMatchObject({ status: 403 });
    expect(await call('PUT', '/v1/mcp-servers/x', server({ url: 'http://[::ffff:7f00:1]:1' }))).toMatchObject({
      status: 403,
    });
    expect(await call('PUT', '/v1/mcp-servers/x', server({}))).toMatchObject({ status: 400 });
  });

  test.each([
    ['/v1/tools/none/call', '{}', { status: 404, code: 'unknown_tool' }],
    ['/v1/tools/echo/call', '{"args":', { status: 400, code: 'invalid_json' }],
    ['/v1/tools/echo/call', '[]', { status: 400, code: 'invalid_request' }],
    ['/v1/tools/echo/call', '{"arg":{}}', { status: 400, code: 'invalid_request' }],
    ['/v1/tools/echo/call', '['.repeat(10_000), { status: 400, code: 'invalid_request' }],
  ])('POST %s with %.20s is a problem', async (path, body, { status, code }) => {
    const answer = await call('POST', path, body);
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({ code, detail: expect.any(String) });
  });

  test.each<[string, Record<string, unknown>, { status: number; code: string }]>([
    [
      'a business key that is no expression',
      { http: { method: 'POST', url: 'https://example.com' }, effect: 'write', businessKey: 'args.' },
      { status: 400, code: 'invalid_request' },
    ],
    [
      'a private host',
      { http: { method: 'GET', url: 'http://10.1.1.1/' } },
      { status: 403, code: 'target_not_allowed' },
    ],
    [
      'a schema that does not compile',
      { http: { method: 'GET', url: 'https://example.com' }, parameters: { type: 'objct' } },
      { status: 400, code: 'invalid_request' },
    ],
    [
      'an unknown dialect',
      { http: { method: 'GET', url: 'https://example.com' }, parameters: { $schema: 'urn:x' } },
      { status: 400, code: 'invalid_request' },
    ],
    ['an undeclared parameter', { sql: { source: 's', query: 'select :x' } }, { status: 400, code: 'invalid_request' }],
  ])('%s is refused with a sentence', async (_name, spec, { status, code }) => {
    const answer = await put(toolOf('bad', spec), 'bad');
    expect(answer.status).toBe(status);
    expect(JSON.parse(answer.text)).toMatchObject({ code, detail: expect.stringMatching(/\w+ \w+/) });
  });

  test('a whole service is imported from its OpenAPI document, and its tools can be called', async () => {
    const get = { operationId: 'read_it', parameters: [{ name: 'q', in: 'query', schema: { type: 'string' } }] };
    const document = { openapi: '3.1.0', servers: [{ url: bench.peer.url }], paths: { '/ok/imported': { get } } };
    const answer = await call('POST', '/v1/tools/import', JSON.stringify({ openapi: document, prefix: 'shop_' }));
    expect(JSON.parse(answer.text)).toMatchObject({ items: [{ name: 'shop_read_it' }], warnings: [] });
    const tried = await eventually(async () => {
      const response = await call('POST', '/v1/tools/shop_read_it/call', '{"args":{"q":"ü"}}');
      return response.status === 200 && response;
    });
    expect(JSON.parse(tried.text)).toMatchObject({ status: 'ok' });
    expect(bench.peer.hits.map(({ path }) => path)).toContain('/ok/imported?q=%C3%BC');
    const yaml = [
      'openapi: 3.0.3',
      `servers: [{ url: "${bench.peer.url}" }]`,
      'paths:',
      '  /ok/yaml:',
      '    get: { operationId: from_yaml, summary: Reads. }',
    ].join('\n');
    const fromYaml = await call('POST', '/v1/tools/import', JSON.stringify({ openapi: yaml }));
    expect(fromYaml.status).toBe(200);
    expect(fromYaml.text).toContain('"name":"from_yaml"');
    const broken = JSON.stringify({ openapi: 'paths: [' });
    expect(await call('POST', '/v1/tools/import', broken)).toMatchObject({ status: 400 });
    const old = JSON.stringify({ openapi: { swagger: '2.0', paths: {} } });
    expect(await call('POST', '/v1/tools/import', old)).toMatchObject({ status: 400 });
  });

  test('without a key nothing is told', async () => {
    const response = await fetch(`${bench.url}/v1/tools/echo/call`, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    });
    expect(response.status).toBe(401);
  });

  test('it is ready and counts its observations', async () => {
    expect((await fetch(`${bench.url}/healthz/ready`)).status).toBe(200);
    await bench.observe(toolOf('get', bench.http('/ok')));
    const counted = async () =>
      (await (await fetch(`${bench.url}/metrics`)).text()).includes('pawl_observations_total{status="ok"}');
    expect(await eventually(counted)).toBe(true);
  });
});
