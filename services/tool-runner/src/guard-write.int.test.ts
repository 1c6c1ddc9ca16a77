import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { ActWork } from '@pawl/contracts';
import { eventually, useTestServers } from '@pawl/testkit';
import { effectKey } from './call/effect-key.ts';
import { claimEffect } from './effects/effect-store.ts';
import { openRunnerBench, toolOf, type RunnerBench } from './testing/runner-bench.ts';

const servers = useTestServers();
let bench: RunnerBench;

beforeAll(async () => void (bench = await openRunnerBench(servers)));
beforeEach(() => bench.peer.reset());
afterAll(() => bench.close());

describe('effects', () => {
  const writing = (path: string, more: Record<string, unknown> = {}) =>
    toolOf('write', { ...bench.http(path, 'POST'), effect: 'write', ...more });
  const claimantOf = (work: ActWork) => {
    const { app, runId, m, i, step, tool, args } = work;
    return { key: effectKey({ app, runId, step, tool, args }), app, runId, m, i, tool, owner: 'gone' };
  };

  test('are claimed, sent with their key, and stored with their result', async () => {
    const work = await bench.workFor(writing('/ok'), { args: '{"amount": 1.10}' });
    await bench.ask(work);
    const { observation } = await bench.observed(work);
    expect(observation.status).toBe('ok');
    const { key: expected } = claimantOf(work);
    expect(bench.peer.hits).toEqual([{ path: '/ok', key: expected }]);
    const rows = await bench.database.query<{ state: string; result: string }>(
      'select state, result from tools.effects where key = $1',
      [expected],
    );
    expect(rows[0]?.state).toBe('done');
    expect(JSON.parse(rows[0]?.result ?? '')).toMatchObject({ observation });
  });

  test('a failing gateway leaves a write in doubt and is not asked twice', async () => {
    const { observation } = await bench.observe(writing('/gateway'));
    expect(observation).toMatchObject({ status: 'in_doubt', errorCode: 'in_doubt' });
    expect(bench.peer.hits).toHaveLength(1);
  });

  test('a write that times out is in doubt', async () => {
    const { observation } = await bench.observe(writing('/hold', { timeout: '3s' }));
    expect(observation).toMatchObject({ status: 'in_doubt' });
    expect(bench.peer.hits).toHaveLength(1);
  });

  test('C10: a write that commits and then answers too late is in doubt, not repeated, and its answer is kept as late', async () => {
    const work = await bench.workFor(writing('/hold', { timeout: '150ms', idempotent: true, retry: { max: 3 } }));
    await bench.ask(work);
    expect((await bench.observed(work)).observation).toMatchObject({ status: 'in_doubt', data: null });
    bench.peer.held[0]?.end('{"paid":true}');
    const { late } = await eventually(async () => {
      const [row] = await bench.database.query<{ late_result: string | null }>(
        'select late_result from tools.effects where key = $1',
        [claimantOf(work).key],
      );
      const result = row?.late_result ?? undefined;
      return result !== undefined && { late: result };
    });
    expect(JSON.parse(late)).toMatchObject({ observation: { status: 'ok', data: expect.stringContaining('paid') } });
    expect(bench.peer.hits).toHaveLength(1);
    expect((await bench.observed(work)).observation.status).toBe('in_doubt');
  });

  test.each(['/reset', '/gone', '/gateway'])(
    'C11: a server that executes, then answers %s, has executed once',
    async (path) => {
      const { observation } = await bench.observe(writing(path));
      expect(observation.status).toBe(path === '/gone' ? 'error' : 'in_doubt');
      expect(bench.peer.hits).toHaveLength(1);
    },
  );

  test('the same business in other words, another step and another run is done once', async () => {
    const tool = writing('/ok', { businessKey: 'args.order' });
    const first = await bench.observe(tool, { args: '{"order":"A7","why":"broken"}' });
    expect(first.observation.status).toBe('ok');
    const again = await bench.observe(tool, { args: '{"order":"A7","why":"it came broken"}', step: 4 });
    expect(again.observation).toMatchObject({ status: 'duplicate', errorCode: 'duplicate_call', ref: null });
    expect(again.observation.data).toBe(first.observation.data);
    expect((await bench.observe(tool, { args: '{"order":"A8"}' })).observation.status).toBe('ok');
    expect(bench.peer.hits).toHaveLength(2);
  });

  test('business that certainly was not done may be asked for again', async () => {
    const business = { effect: 'write', businessKey: 'args.order' };
    const args = '{"order":"B1"}';
    const away = toolOf('write', { http: { method: 'POST', url: 'http://127.0.0.1:1/' }, ...business });
    expect((await bench.observe(away, { args })).observation).toMatchObject({ errorCode: 'tool_unreachable' });
    expect((await bench.observe(writing('/ok', business), { args })).observation.status).toBe('ok');
  });

  test('arguments without the business key are refused, and nothing is sent', async () => {
    const { observation } = await bench.observe(writing('/ok', { businessKey: 'args.order' }), { args: '{}' });
    expect(observation).toMatchObject({ status: 'error', errorCode: 'invalid_arguments' });
    expect(bench.peer.hits).toEqual([]);
  });

  test('a write whose tool was never reached is not in doubt', async () => {
    const tool = toolOf('write', { http: { method: 'POST', url: 'http://127.0.0.1:1/' }, effect: 'write' });
    expect((await bench.observe(tool)).observation).toMatchObject({ status: 'error', errorCode: 'tool_unreachable' });
  });

  test('C12: a claim whose owner died before or after it sent is in doubt, and nothing is sent', async () => {
    const work = await bench.workFor(writing('/ok'));
    await claimEffect(bench.database, claimantOf(work));
    await bench.ask(work);
    expect((await bench.observed(work)).observation.status).toBe('in_doubt');
    expect(bench.peer.hits).toEqual([]);
  });

  test('C12: a claim whose owner died is sent again under the same key where the tool allows it', async () => {
    const work = await bench.workFor(writing('/ok', { idempotent: true }));
    await claimEffect(bench.database, claimantOf(work));
    await bench.ask(work);
    expect((await bench.observed(work)).observation.status).toBe('ok');
    expect(bench.peer.hits).toEqual([{ path: '/ok', key: claimantOf(work).key }]);
  });

  test('C12: a stored result is told again after a crash before its fact, instead of acting again', async () => {
    const work = await bench.workFor(writing('/ok'));
    await bench.ask(work);
    const fact = await bench.observed(work);
    await bench.bus.jsm.streams.purge('RUNS', { filter: `pawl.run.*.demo.${work.runId}.>` });
    await bench.ask(work);
    const again = await bench.observed(work);
    expect({ ...again, at: '' }).toEqual({ ...fact, at: '' });
    expect(bench.peer.hits).toHaveLength(1);
  });

  test('the same write twice in one step acts once', async () => {
    const first = await bench.workFor(writing('/slow'), { args: '{"a":1,"b":2}' });
    const second = { ...first, i: 1, callId: 'call_2', args: '{"b": 2, "a": 1}' };
    await Promise.all([bench.ask(first), bench.ask(second)]);
    const facts = await Promise.all([bench.observed(first), bench.observed(second)]);
    expect(facts.map((fact) => fact.observation.status).toSorted()).toEqual(['duplicate', 'ok']);
    expect(facts[0]?.observation.data).toBe(facts[1]?.observation.data);
    expect(bench.peer.hits).toHaveLength(1);
  });

  test('no write starts for a run that was cancelled before', async () => {
    const work = await bench.workFor(writing('/ok'));
    await bench.cancel(work.runId);
    await bench.ask(work);
    expect((await bench.observed(work)).observation).toMatchObject({ status: 'cancelled', errorCode: 'run_stopped' });
    expect(bench.peer.hits).toEqual([]);
  });
});
