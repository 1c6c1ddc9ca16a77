/** What is generated of the chart is what its source says. */
import { readFileSync } from 'node:fs';
import { services } from '@pawl/contracts';
import * as llmGateway from '@pawl/llm-gateway/config';
import * as orchestrator from '@pawl/orchestrator/config';
import * as toolRunner from '@pawl/tool-runner/config';
import * as traceStore from '@pawl/trace-store/config';
import { describe, expect, test } from 'vitest';
import { chartFiles } from './chart-files.ts';
import { managedVariables } from './service-values.ts';

const chart = new URL('../', import.meta.url);
const read = (path: string) => readFileSync(new URL(path, chart), 'utf8');

test('every generated file is up to date', () => {
  const stale = [...chartFiles()].filter(([path, text]) => read(path) !== text).map(([path]) => path);
  expect(stale, 'differ from their source: run npm run generate').toEqual([]);
});

test('every value has a sentence above it', () => {
  const lines = read('values.yaml').split('\n');
  const keys = lines.flatMap((line, index) => (/^\s*\w+:/.test(line) ? [index] : []));
  expect(keys.length).toBeGreaterThan(100);
  expect(keys.filter((index) => !/^\s*# \S/.test(lines[index - 1] ?? '')).map((index) => lines[index])).toEqual([]);
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

test('every path of a service leads in from outside', () => {
  const routes = JSON.parse(read('files/routes.json')) as Record<string, { port: number; paths: string[] }>;
  expect(Object.keys(routes)).toEqual(services.map(({ name }) => name));
});

function offeredBy(key: string): Record<string, unknown> {
  const schema = JSON.parse(read('values.schema.json')) as SchemaNode;
  return schema.properties?.[key]?.properties?.['config']?.properties ?? {};
}

type SchemaNode = { properties?: Record<string, SchemaNode> };
