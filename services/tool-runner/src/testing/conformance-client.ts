/**
 * What the MCP conformance suite runs as the client under test: it declares the suite's server with a running tool-runner, accepts
 * its tools, and has each of them called as act work, so that the whole production path is what is tested.
 */
import { randomUUID } from 'node:crypto';
import { connectRegistry } from '@pawl/bus';
import type { Tool } from '@pawl/contracts';
import { eventually } from '@pawl/testkit';
import { givenEnvironment } from './config.ts';
import { openWorkBench } from './runner-bench.ts';

type Listed = { tool: string; name: string };
type Context = { toolCalls?: { name: string; arguments: Record<string, unknown> }[] };

const environment = givenEnvironment();
const given = (name: string) => environment[name] ?? '';
const url = process.argv[2] ?? '';
const bench = await openWorkBench({ natsUrl: given('PAWL_NATS_URL'), databaseUrl: given('PAWL_DATABASE_URL') });
const server = `conformance-${randomUUID().slice(0, 8)}`;
const context = JSON.parse(given('MCP_CONFORMANCE_CONTEXT') || '{}') as Context;

async function http(method: string, path: string, body?: unknown): Promise<unknown> {
  const response = await fetch(`${given('PAWL_RUNNER_URL')}${path}`, {
    method,
    headers: {
      authorization: `Bearer ${bench.appKey}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.status === 204 ? null : await response.json();
}

/** Arguments that fit a tool's schema; where the suite asks for it, the schema of the tool before. */
function argumentsFor(tool: Tool, before: Tool | undefined): Record<string, unknown> {
  if (tool.spec.mcp?.tool === 'json_schema_echo') return { schema: before?.spec.parameters };
  const values: Record<string, unknown> = { number: 2.5, integer: 7, boolean: true, array: [], object: {} };
  const properties = (tool.spec.parameters?.['properties'] ?? {}) as Record<string, { type?: string }>;
  return Object.fromEntries(
    Object.entries(properties).map(([name, { type = 'string' }]) => [name, values[type] ?? 'text']),
  );
}

function withoutNulls(args: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(args).filter(([, value]) => value !== null));
}

async function call(tool: Tool, args: Record<string, unknown>): Promise<void> {
  const { observation } = await bench.observe(tool, { args: JSON.stringify(args) });
  process.stdout.write(
    `${tool.metadata.name} ${observation.status} ${observation.message ?? ''} ${observation.data ?? ''}\n`,
  );
}

const registry = await connectRegistry(bench.bus);
try {
  const metadata = { app: 'demo', name: server };
  await http('PUT', `/v1/mcp-servers/${server}`, {
    apiVersion: 'pawl.dev/v1',
    kind: 'McpServer',
    metadata,
    spec: { url },
  });
  const { items, warnings } = (await http('POST', `/v1/mcp-servers/${server}/tools`, {})) as {
    items: Listed[];
    warnings: string[];
  };
  process.stdout.write(`${JSON.stringify(warnings)}\n`);
  let before: Tool | undefined;
  for (const { tool: name, name: declared } of items) {
    const tool = (await eventually(() => registry.find('Tool', 'demo', declared))).object;
    const wanted = (context.toolCalls ?? [])
      .filter((each) => each.name === name)
      .map((each) => withoutNulls(each.arguments));
    // An argument that is null for the suite is one that isn't given: a schema that wants a boolean takes no null.
    for (const args of wanted.length > 0 ? wanted : [argumentsFor(tool, before)]) await call(tool, args);
    before = tool;
  }
} finally {
  await http('DELETE', `/v1/mcp-servers/${server}`);
  registry.close();
  await bench.close();
}
