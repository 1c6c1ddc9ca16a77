/**
 * Alerts and dashboards against what they meet: promtool of Prometheus, and the /metrics and /openapi.json of the real
 * services after a run.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensurePrograms } from '@pawl/devstack';
import { eventually, hasTimeForPeers, useTestServers } from '@pawl/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { startStack, type Stack } from '../system/stack.ts';
import { askedFor, folder, readExpressions, root } from './observability-files.ts';

const run = promisify(execFile);
const expressions = readExpressions();

describe('promtool', () => {
  let reason: string | undefined;
  beforeAll(async () => {
    reason = await run('promtool', ['--version']).then(
      () => undefined,
      () => (hasTimeForPeers() ? ensurePrograms({ promtool: 'prometheus' }) : 'npm run test:full installs promtool'),
    );
  }, 600_000);

  test('rules are well formed, and every alert fires when it should and only then', async (context) => {
    if (reason !== undefined) context.skip(reason);
    const rules = `${folder}prometheus-rules.yaml`;
    const checked = await run('promtool', ['check', 'rules', '--lint=all', '--lint-fatal', rules]);
    expect(checked.stdout).toContain('SUCCESS');
    const tested = await run('promtool', ['test', 'rules', `${folder}prometheus-rules.test.yaml`]);
    expect(tested.stdout).toContain('SUCCESS');
  });

  test('every expression of a dashboard can be evaluated', async (context) => {
    if (reason !== undefined) context.skip(reason);
    const place = await mkdtemp(join(tmpdir(), 'pawl-rules-'));
    const rules = expressions.map(({ expr }, n) => ({ record: `pawl:panel_${n}`, expr }));
    await writeFile(join(place, 'rules.yaml'), stringify({ groups: [{ name: 'panels', rules }] }));
    const { stdout } = await run('promtool', ['check', 'rules', join(place, 'rules.yaml')]);
    expect(stdout).toContain(`SUCCESS: ${rules.length} rules found`);
    await rm(place, { recursive: true });
  });
});

describe('the services', () => {
  const servers = useTestServers();
  let stack: Stack;
  /** Labels of every series by the name of its metric, over all services. */
  const live = new Map<string, Set<string>>();
  const paths = new Map<string, Set<string>>();

  beforeAll(async () => {
    const respond = ({ turn }: { turn: number }) =>
      turn === 0 ? { say: 'I reckon.', calls: [{ tool: 'calculator', args: { expression: '6*7' } }] } : { say: '42' };
    stack = await startStack({ servers, models: { scripted: { respond } } });
    const parameters = { type: 'object', properties: { expression: { type: 'string' } }, required: ['expression'] };
    await stack.api.putTool('calculator', { builtin: { name: 'calculator' }, parameters });
    await stack.api.putAgent('reckoner', { tools: ['calculator'] });
    await stack.api.putBudget('all', {
      scope: { app: 'demo' },
      limit: { amount: '10.00', currency: 'USD' },
      window: 'total',
      timeZone: 'UTC',
    });
    const { body } = await stack.api.run({ agent: 'reckoner', input: 'What is 6 times 7?' });
    if (body.stopReason !== 'final_answer') throw new Error(`the run stopped with ${body.stopReason}`);
    await eventually(async () => (await stack.api.getTrace(body.id)).status === 200);
    for (const url of Object.values(stack.urls)) {
      noteSeries(live, await (await fetch(`${url}/metrics`)).text());
      noteOperations(paths, await (await fetch(`${url}/openapi.json`)).json());
    }
  }, 120_000);
  afterAll(async () => {
    await stack.stop();
  });

  test('every metric that is asked for is there, with the labels that it is chosen by', () => {
    // What Prometheus adds by itself.
    const added = new Set(['job', 'instance', 'le']);
    const asked = expressions.flatMap(({ where, expr }) => askedFor(expr).map((each) => ({ where, ...each })));
    expect(asked.length).toBeGreaterThan(50);
    const unknown = asked.flatMap(({ where, metric, labels }) => {
      const known = live.get(metric);
      if (!known) return [`${where}: ${metric}`];
      return labels
        .filter((label) => !known.has(label) && !added.has(label))
        .map((label) => `${where}: ${metric}{${label}}`);
    });
    expect(unknown).toEqual([]);
  });

  test('the books and the log agree on what a run cost, and the run is in no queue any more', async () => {
    const [gateway, traces, orchestrator] = await Promise.all(
      [stack.urls.llmGateway, stack.urls.traceStore, stack.urls.orchestrator].map(readValues),
    );
    const thoughts = [...traces!.entries()].filter(([series]) => series.startsWith('pawl_thoughts_usd_total'));
    const cost = thoughts.reduce((sum, [, value]) => sum + value, 0);
    expect(cost).toBeGreaterThan(0);
    expect(gateway!.get('pawl_ledger_usd_total{purpose="think",line="reply"}')).toBeCloseTo(cost, 9);
    expect(gateway!.get('pawl_budget_left_ratio')).toBeCloseTo(1 - cost / 10, 9);
    expect(gateway!.get('pawl_model_attempts_total{provider="sim",outcome="answered"}')).toBe(2);
    expect(orchestrator!.get('pawl_runs_open{status="running"}')).toBe(0);
    expect(orchestrator!.get('pawl_runs_stuck')).toBe(0);
    expect(orchestrator!.get('pawl_partitions_owned')).toBe(orchestrator!.get('pawl_partitions'));
  });

  test('every request that a runbook or the operations page asks for exists', async () => {
    const files = [
      ...(await readdir(`${root}docs/runbooks`)).map((name) => `docs/runbooks/${name}`),
      'docs/operations.md',
    ];
    const asked = await Promise.all(
      files.map(async (file) => {
        const requests = (await readFile(root + file, 'utf8')).matchAll(
          /`(GET|POST|PUT|DELETE) (\/v1\/[^`\s?]*)(\?[^`]*)?`/g,
        );
        return [...requests].map(([, method = '', path = '', query = '']) => ({ file, method, path, query }));
      }),
    );
    expect(asked.flat().length).toBeGreaterThan(8);
    const missing = asked.flat().filter(({ method, path, query }) => {
      const known = paths.get(`${method} ${path.replaceAll(/\{\w+\}/g, '{}')}`);
      const names = [...new URLSearchParams(query).keys()];
      return !known || names.some((name) => !known.has(name));
    });
    expect(missing).toEqual([]);
  });
});

function noteSeries(live: Map<string, Set<string>>, text: string): void {
  for (const line of text.split('\n').filter((each) => each !== '' && !each.startsWith('#'))) {
    const [, name = '', labels = ''] = /^([\w:]+)(?:\{(.*)\})? /.exec(line) ?? [];
    const known = live.get(name) ?? new Set();
    for (const [, label = ''] of labels.matchAll(/(\w+)="/g)) known.add(label);
    live.set(name, known);
  }
}

async function readValues(url: string): Promise<Map<string, number>> {
  const text = await (await fetch(`${url}/metrics`)).text();
  const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(series.map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]));
}

type OpenApi = { paths: Record<string, Record<string, { parameters?: { name: string }[] }>> };

/** Operations as `GET /v1/runs/{}`, with the names of their parameters. */
function noteOperations(paths: Map<string, Set<string>>, document: unknown): void {
  for (const [path, operations] of Object.entries((document as OpenApi).paths)) {
    for (const [method, { parameters = [] }] of Object.entries(operations)) {
      const key = `${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '{}')}`;
      paths.set(key, new Set(parameters.map(({ name }) => name)));
    }
  }
}
