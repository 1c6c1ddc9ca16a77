/** Skills through the whole path of a call: act work in, one observation out, with what the steps came to nested in it. */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { RejectedError, type Tool } from '@pawl/contracts';
import { connectRegistry, type Registry } from '@pawl/bus';
import { eventually, useTestServers } from '@pawl/testkit';
import { openRunnerBench, toolOf, type RunnerBench } from '../testing/runner-bench.ts';
import { createSkillKind } from './skill.ts';

const servers = useTestServers();
let bench: RunnerBench;
let registry: Registry;

const skill = (steps: Record<string, unknown>[], more: Record<string, unknown> = {}) =>
  toolOf('diagnose', { skill: { steps }, ...more });
const declare = async (...tools: Tool[]) => {
  for (const tool of tools) await registry.put(tool);
  const [last] = tools.slice(-1);
  await eventually(() => last && registry.find('Tool', 'demo', last.metadata.name) !== undefined);
};
const dataOf = (data: string | null) => JSON.parse(data ?? 'null') as { steps: Record<string, unknown>[] };

beforeAll(async () => {
  bench = await openRunnerBench(servers);
  registry = await connectRegistry(bench.bus);
  await declare(
    toolOf('metrics', bench.http('/ok/metrics')),
    toolOf('look_up', {
      http: { method: 'GET', url: `${bench.peer.url}/ok/{id}` },
      parameters: { properties: { id: {} } },
    }),
    toolOf('held', bench.http('/hold')),
    toolOf('sum', {
      builtin: { name: 'calculator' },
      parameters: { type: 'object', properties: { expression: { type: 'string' } }, required: ['expression'] },
    }),
    toolOf('pay', { ...bench.http('/ok/pay', 'POST'), effect: 'write' }),
    toolOf('secret', { ...bench.http('/ok/secret'), roles: ['chief'] }),
    toolOf('broken', { http: { method: 'GET', url: 'http://127.0.0.1:1/' }, retry: { max: 0 } }),
    toolOf('inner', { skill: { steps: [{ name: 'a', tool: 'metrics' }] } }),
  );
});
beforeEach(() => bench.peer.reset());
afterAll(async () => {
  registry.close();
  await bench.close();
});

describe('kind skill', () => {
  test('calls its steps in order with mapped arguments, digit for digit, and shows them nested', async () => {
    const tool = skill([
      { name: 'first', tool: 'metrics' },
      { name: 'second', tool: 'look_up', args: { id: 'steps.first.data.id' } },
      { name: 'third', tool: 'sum', args: '{"expression": args.a & " * 2"}' },
    ]);
    const { observation } = await bench.observe(tool, { args: '{"a":21}' });
    expect(observation).toMatchObject({ status: 'ok', truncated: false });
    expect(bench.peer.hits.map(({ path }) => path)).toEqual(['/ok/metrics', '/ok/9007199254740993']);
    expect(observation.data).toContain('"args":{"id":9007199254740993}');
    expect(dataOf(observation.data).steps).toMatchObject([
      { name: 'first', tool: 'metrics', status: 'ok' },
      { name: 'second', tool: 'look_up', status: 'ok' },
      { name: 'third', tool: 'sum', status: 'ok', data: { expression: '21 * 2', result: 42 } },
    ]);
  });

  test('steps that wait for nothing run at once, and the last waits for all', async () => {
    const steps = ['a', 'b', 'c'].map((name) => ({ name, tool: 'held', after: [] }));
    const last = {
      name: 'd',
      tool: 'sum',
      args: { expression: '"1+" & $count($keys(steps))' },
      after: ['a', 'b', 'c'],
    };
    const observing = bench.observe(skill([...steps, last]));
    await eventually(() => bench.peer.held.length === 3);
    for (const response of bench.peer.held) response.end('done');
    const { observation } = await observing;
    expect(dataOf(observation.data).steps[3]).toMatchObject({ data: { result: 4 } });
  });

  test('a condition leaves a step out', async () => {
    const tool = skill([
      { name: 'first', tool: 'metrics' },
      { name: 'no', tool: 'metrics', when: 'args.deep = true' },
    ]);
    const { observation } = await bench.observe(tool);
    expect(dataOf(observation.data).steps[1]).toMatchObject({ name: 'no', status: 'skipped' });
    expect(bench.peer.hits).toHaveLength(1);
  });

  test('a failed step ends the skill and says why, unless the skill goes on', async () => {
    const steps = (onError: string) => [
      { name: 'x', tool: 'broken', onError },
      { name: 'y', tool: 'metrics' },
    ];
    const stopped = (await bench.observe(skill(steps('stop')))).observation;
    expect(stopped).toMatchObject({ status: 'error', errorCode: 'tool_failed' });
    expect(stopped.message).toContain('x');
    expect(dataOf(stopped.data).steps).toHaveLength(1);
    const { observation } = await bench.observe(skill(steps('continue')));
    expect(observation.status).toBe('ok');
    expect(dataOf(observation.data).steps.map(({ status }) => status)).toEqual(['error', 'ok']);
  });

  test('arguments that do not fit a step are refused before it is called', async () => {
    const { observation } = await bench.observe(skill([{ name: 'x', tool: 'sum', args: { expression: 7 } }]));
    expect(observation.message).toContain('/expression: expected type string; got 7');
  });

  test.each<[string, string, string]>([
    ['a tool that writes', 'pay', 'declared as a tool that only reads'],
    ['a tool that the user has no role for', 'secret', 'may not use'],
    ['another skill', 'inner', "can't be a step"],
    ['a tool that is not there', 'none', 'no tool none'],
  ])('a reading skill reaches no further than its user: %s', async (_name, tool, says) => {
    const { observation } = await bench.observe(skill([{ name: 'x', tool }]));
    expect(observation).toMatchObject({ status: 'error', message: expect.stringContaining(says) });
    expect(bench.peer.hits).toEqual([]);
  });

  test('C12: writes within a skill act once, also when the skill is called again', async () => {
    const tool = skill(
      [
        { name: 'once', tool: 'pay' },
        { name: 'twice', tool: 'pay' },
      ],
      { effect: 'write', idempotent: true },
    );
    const work = await bench.workFor(tool);
    await bench.ask(work);
    expect((await bench.observed(work)).observation.status).toBe('ok');
    const keys = bench.peer.hits.map(({ key }) => key);
    expect(new Set(keys).size).toBe(2);
    await bench.bus.jsm.streams.purge('RUNS', { filter: `pawl.run.*.demo.${work.runId}.>` });
    await bench.database.query(`update tools.effects set state = 'claimed', result = null where tool = 'diagnose'`);
    await bench.ask(work);
    expect((await bench.observed(work)).observation.status).toBe('ok');
    expect(bench.peer.hits).toHaveLength(2);
  });

  test('long results are shown short, step by step, and kept whole', async () => {
    const steps = ['a', 'b'].map((name) => ({
      name,
      tool: 'sum',
      args: { expression: '$join([1..200].($string($)), "+")' },
    }));
    const { observation } = await bench.observe(skill(steps), { maxChars: 1_500 });
    expect(observation).toMatchObject({ status: 'ok', truncated: true, ref: expect.any(String) });
    expect(dataOf(observation.data).steps).toHaveLength(2);
    expect(observation.data?.length).toBeLessThanOrEqual(1_500);
  });

  test.each<[string, Record<string, unknown>[]]>([
    [
      'two steps of one name',
      [
        { name: 'a', tool: 'x' },
        { name: 'a', tool: 'x' },
      ],
    ],
    [
      'waiting for a later step',
      [
        { name: 'a', tool: 'x', after: ['b'] },
        { name: 'b', tool: 'x' },
      ],
    ],
    ['an expression that is none', [{ name: 'a', tool: 'x', args: { n: 'args.' } }]],
    ['an unknown field', [{ name: 'a', tool: 'x', arg: {} }]],
  ])('is refused when it is declared with %s', (_name, steps) => {
    expect(() => createSkillKind({ resultBytesMax: 1_000 }).check(skill(steps))).toThrow(RejectedError);
  });
});
