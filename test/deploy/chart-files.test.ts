/** What is generated of the chart is what its source says. */
import { readFileSync } from 'node:fs';
import { services } from '@pawl/contracts';
import * as llmGateway from '@pawl/llm-gateway/config';
import * as orchestrator from '@pawl/orchestrator/config';
import * as toolRunner from '@pawl/tool-runner/config';
import * as traceStore from '@pawl/trace-store/config';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { chartFiles } from '../../deploy/chart/source/chart-files.ts';
import { managedVariables } from '../../deploy/chart/source/service-values.ts';
import { valuesSchema } from '../../deploy/chart/source/values.ts';

const chart = new URL('../../deploy/chart/', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, chart), 'utf8');

test('every generated file is up to date', () => {
  const stale = [...chartFiles()].filter(([path, text]) => read(path) !== text).map(([path]) => path);
  expect(stale, 'differ from their source: run npm run generate').toEqual([]);
});

test('values.yaml holds the defaults of the schema, each with a sentence', () => {
  const text = read('values.yaml');
  expect(valuesSchema.parse(parse(text))).toEqual(valuesSchema.parse({ global: undefined }));
  const keys = text.split('\n').filter((line) => /^\s*\w+:/.test(line));
  const lines = text.split('\n');
  for (const key of keys) expect(lines[lines.indexOf(key) - 1] ?? '', key).toMatch(/^\s*#|:$/);
});

describe('variables', () => {
  const configs = { orchestrator, llmGateway, toolRunner, traceStore };

  test.for(Object.entries(configs))(
    'every variable of %s is set by the chart or can be',
    ([key, { variableNames }]) => {
      const offered = Object.keys(offeredBy(key));
      expect(variableNames.length).toBeGreaterThan(10);
      expect(variableNames.filter((name) => !managedVariables.has(name) && !offered.includes(name))).toEqual([]);
      expect(offered.filter((name) => !variableNames.includes(name))).toEqual([]);
    },
  );

  test('every variable that the chart sets itself is read by somebody', () => {
    const known = new Set(Object.values(configs).flatMap(({ variableNames }) => variableNames));
    expect([...managedVariables].filter((name) => !known.has(name))).toEqual([]);
  });
});

test('what is shown for production keeps three copies, each on its disk before it is acknowledged', () => {
  const production = valuesSchema.parse(parse(read('examples/production.yaml')));
  expect(production.nats).toMatchObject({ mode: 'external', streamReplicas: 3, users: true });
  const { config } = parse(read('examples/servers/nats-values.yaml')) as {
    config: { cluster: object; jetstream: { merge: object }; merge: { authorization: { users: object[] } } };
  };
  expect(config.cluster).toMatchObject({ enabled: true, replicas: 3 });
  expect(config.jetstream.merge).toEqual({ sync_interval: 'always' });
  expect(config.merge.authorization.users).toHaveLength(6);
  expect(read('files/nats.conf')).toContain('sync_interval: always');
});

test('every path of a service leads in from outside', () => {
  const routes = JSON.parse(read('files/routes.json')) as Record<string, { port: number; paths: string[] }>;
  expect(Object.keys(routes)).toEqual(services.map(({ name }) => name));
});

function offeredBy(key: string): Record<string, unknown> {
  const schema = JSON.parse(read('values.schema.json')) as SchemaNode;
  return schema.properties?.[key]?.properties?.['config']?.properties ?? {};
}

type SchemaNode = { properties?: Record<string, SchemaNode> };
