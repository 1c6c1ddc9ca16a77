import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { sha256, type ActWork } from '@pawl/contracts';
import { eventually, useTestServers } from '@pawl/testkit';
import { openRunnerBench, toolOf, type RunnerBench } from './testing/runner-bench.ts';

const servers = useTestServers();
let bench: RunnerBench;

beforeAll(async () => void (bench = await openRunnerBench(servers)));
beforeEach(() => bench.peer.reset());
afterAll(() => bench.close());

test('a pool with a limit of its own has no more calls under way than that, and holds up no other pool', async () => {
  const pooled = await openRunnerBench(servers, { PAWL_POOLS: 'small:2,large' });
  try {
    const workIn = async (pool: string, path: string) =>
      await pooled.workFor(toolOf('held', { ...pooled.http(path), pool }), { pool });
    const small = await Promise.all(['/hold/1', '/hold/2', '/hold/3'].map((path) => workIn('small', path)));
    await Promise.all(small.map(pooled.ask));
    await eventually(() => pooled.peer.held.length === 2);
    expect(
      (await pooled.observe(toolOf('get', { ...pooled.http('/ok'), pool: 'large' }), { pool: 'large' })).observation
        .status,
    ).toBe('ok');
    expect(pooled.peer.held).toHaveLength(2);
    pooled.peer.held[0]?.end('{}');
    await eventually(() => pooled.peer.held.length === 3);
    for (const response of pooled.peer.held) response.end('{}');
    await Promise.all(small.map(pooled.observed));
  } finally {
    await pooled.close();
  }
});

describe('act work', () => {
  test('becomes one observed fact with the very digits of the tool', async () => {
    const fact = await bench.observe(toolOf('get', bench.http('/ok')), { callId: 'call_7' });
    expect(fact).toMatchObject({ tool: 'get', callId: 'call_7', trust: 'untrusted', attempt: 1 });
    expect(fact.observation).toMatchObject({
      status: 'ok',
      data: '{"id":9007199254740993}',
      errorCode: null,
      ref: null,
    });
  });

  test('the calls of a thought are under way at once', async () => {
    const first = await bench.workFor(toolOf('holding', bench.http('/hold')));
    const works = [0, 1, 2].map((i) => ({ ...first, i, callId: `call_${i}` }));
    await Promise.all(works.map(bench.ask));
    await eventually(() => bench.peer.held.length === 3);
    for (const response of bench.peer.held) response.end('{}');
    const facts = await Promise.all(works.map(bench.observed));
    expect(facts.map((fact) => fact.observation.status)).toEqual(['ok', 'ok', 'ok']);
    expect(facts.map((fact) => fact.callId)).toEqual(['call_0', 'call_1', 'call_2']);
  });

  test('C1: a malformed text of arguments fails its own call and no other', async () => {
    const first = await bench.workFor(toolOf('get', bench.http('/ok')));
    const works = ['{}', '{"a":', '{}'].map((args, i) => ({ ...first, args, i, callId: `call_${i}` }));
    await Promise.all(works.map(bench.ask));
    const [before, malformed, after] = await Promise.all(works.map(bench.observed));
    expect([before?.observation.status, after?.observation.status]).toEqual(['ok', 'ok']);
    expect(malformed?.observation).toMatchObject({
      status: 'error',
      errorCode: 'invalid_arguments_json',
      message: expect.stringContaining('position'),
      suggestion: expect.stringContaining('get'),
    });
  });

  test.each<[string, Partial<ActWork>, { code: string; says: string }]>([
    ['arguments that are not JSON', { args: '{"a":' }, { code: 'invalid_arguments_json', says: 'position' }],
    [
      'arguments that do not fit',
      { args: '{"n":"x"}' },
      { code: 'invalid_arguments', says: '/n: expected type integer; got "x".' },
    ],
    ['a tool that is not pinned', { tool: 'other' }, { code: 'unknown_tool', says: 'no tool other' }],
    ['another revision of the tool', { toolRevision: sha256('other') }, { code: 'unknown_tool', says: 'no tool' }],
    ['other arguments than were admitted', { argsHash: sha256('other') }, { code: 'conflict', says: 'admitted' }],
    [
      'a deadline that has passed',
      { deadlineAt: '2020-01-01T00:00:00.000Z' },
      { code: 'tool_timeout', says: 'was over' },
    ],
  ])('%s is an observation of its own', async (_name, more, { code, says }) => {
    const tool = toolOf('checked', {
      ...bench.http('/ok'),
      parameters: { type: 'object', properties: { n: { type: 'integer' } } },
    });
    const { observation } = await bench.observe(tool, more);
    expect(observation).toMatchObject({ errorCode: code, message: expect.stringContaining(says), data: null });
    expect(bench.peer.hits).toEqual([]);
  });

  test('a slow tool times out at its own limit', async () => {
    const { observation } = await bench.observe(toolOf('holding', { ...bench.http('/hold'), timeout: '200ms' }));
    expect(observation).toMatchObject({
      status: 'timeout',
      errorCode: 'tool_timeout',
      message: 'The tool did not answer within 0.2 s.',
    });
    await eventually(() => bench.peer.hungUp() === 1);
  });

  test('a tool without a sign of life is ended by its idle limit, one that goes on telling is not', async () => {
    // Time is what is tested: ten pieces, 200 ms apart, take longer than the limit, but none of the pauses does.
    const idle = { idleTimeout: '1500ms', timeout: '60s' };
    const [silent, telling] = await Promise.all(
      ['/hold', '/drip'].map((path) => bench.observe(toolOf('idle', { ...bench.http(path), ...idle }))),
    );
    expect(silent?.observation).toMatchObject({
      status: 'timeout',
      errorCode: 'tool_timeout',
      message: 'The tool gave no sign of life for 1.5 s.',
    });
    expect(telling?.observation).toMatchObject({ status: 'ok', data: expect.stringContaining('drop drop') });
    expect(telling?.durationMs).toBeGreaterThan(1_500);
    await eventually(() => bench.peer.hungUp() === 1);
  });

  test('a transient failure of a read is tried once more', async () => {
    const fact = await bench.observe(toolOf('flaky', bench.http('/flaky')));
    expect(fact).toMatchObject({ attempt: 2, observation: { status: 'ok' } });
    const failing = await bench.observe(toolOf('gateway', bench.http('/gateway')));
    expect(failing).toMatchObject({ attempt: 2, observation: { status: 'error', errorCode: 'tool_failed' } });
    expect(failing.rawError).toContain('HTTP 504');
    expect(bench.peer.hits.filter((hit) => hit.path === '/gateway')).toHaveLength(2);
  });

  test('a cancelled run lets go of its calls', async () => {
    const work = await bench.workFor(toolOf('holding', bench.http('/hold')));
    await bench.ask(work);
    await eventually(() => bench.peer.held.length === 1);
    await bench.cancel(work.runId);
    const { observation } = await bench.observed(work);
    expect(observation).toMatchObject({ status: 'cancelled', errorCode: 'run_stopped' });
    await eventually(() => bench.peer.hungUp() === 1);
  });

  test('a result that is cut can be read on in the same run', async () => {
    const list = toolOf('list', { builtin: { name: 'calculator' }, parameters: { properties: { expression: {} } } });
    const big = await bench.workFor(list, {
      maxChars: 200,
      args: JSON.stringify({ expression: `${'1+'.repeat(400)}1` }),
    });
    await bench.ask(big);
    const { observation } = await bench.observed(big);
    expect(observation.truncated).toBe(true);
    expect(observation.data?.length).toBeLessThanOrEqual(200);
    const read = toolOf('read', { builtin: { name: 'read_result' }, parameters: { properties: { ref: {} } } });
    const args = JSON.stringify({ ref: observation.ref });
    const page = await bench.observe(read, { runId: big.runId, m: 1, args });
    const { text } = JSON.parse(page.observation.data ?? '') as { text: string };
    expect(JSON.parse(text)).toMatchObject({ result: 401 });
    const foreign = await bench.observe(read, { args });
    expect(foreign.observation.errorCode).toBe('invalid_arguments');
  });

  test('reads leave no row in Postgres', async () => {
    const before = await bench.database.query('select 1 from tools.effects');
    await bench.observe(toolOf('get', bench.http('/ok')));
    expect(await bench.database.query('select 1 from tools.effects')).toHaveLength(before.length);
  });
});
