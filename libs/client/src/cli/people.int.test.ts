import { beforeEach, describe, expect, test } from 'vitest';
import { useCommandLine } from '../testing/command-line.ts';
import { runId, runView } from '../testing/run-server.ts';
import { pausedRun, refundCall, waitingRun } from '../testing/waiting-run.ts';

const cli = useCommandLine();
const { pawl } = cli;

describe('what people say', () => {
  beforeEach(() => {
    cli.server.run = waitingRun;
  });
  const { argsHash } = refundCall;

  test('pending lists the calls; approve takes the only one, with its hash', async () => {
    expect((await pawl(['pending'])).out).toMatch(/^RUN .*\n.*call_0_0 +analyst +decision +refund/);
    const { code, out } = await pawl(['approve', runId]);
    expect(code).toBe(0);
    expect(out).toContain('approved: refund {"amount":120');
    expect(out).toContain(`pawl get ${runId}`);
    const path = `/v1/runs/${runId}/approvals/call_0_0`;
    expect(cli.server.seen.at(-1)).toMatchObject({ path, body: { decision: 'approve', argsHash } });
  });

  test('approve with other arguments; deny with a reason', async () => {
    expect((await pawl(['approve', runId, 'call_0_0', '--edit', '{"amount":50}'])).out).toContain('{"amount":50}');
    expect(cli.server.seen.at(-1)?.body).toEqual({ decision: 'edit', argsHash, args: { amount: 50 } });
    cli.server.run = waitingRun;
    expect((await pawl(['deny', runId, '--reason', 'too much'])).code).toBe(0);
    expect(cli.server.seen.at(-1)?.body).toEqual({ decision: 'deny', argsHash, reason: 'too much' });
  });

  test('nothing that waits, another call, or several: a sentence, and nothing is decided', async () => {
    const [call] = waitingRun.pending;
    expect(await pawl(['approve', runId, 'call_9_9'])).toMatchObject({ code: 2, out: '' });
    cli.server.run = { ...waitingRun, pending: [call!, { ...call!, callId: 'call_0_1' }] };
    expect((await pawl(['deny', runId, '--reason', 'x'])).err).toContain('name one of: call_0_0, call_0_1');
    cli.server.run = runView;
    expect((await pawl(['approve', runId])).err).toContain('no call of run');
    cli.server.run = { ...runView, voided: [{ callId: 'call_0_0', tool: 'refund', why: 'It is another tool now.' }] };
    expect((await pawl(['get', runId])).out).toContain('void\n  call_0_0  refund: It is another tool now.');
    expect((await pawl(['approve', runId, 'call_0_0'])).err).toContain('call_0_0 is void: It is another tool now.');
    expect(cli.server.seen.every(({ method }) => method === 'GET')).toBe(true);
  });

  test('signal, resume and fork send what was typed', async () => {
    cli.server.run = pausedRun;
    expect((await pawl(['signal', runId, 'look at March'])).out).toContain(`pawl resume ${runId}`);
    expect(cli.server.seen.at(-1)?.body).toEqual({ text: 'look at March' });
    const limits = '--steps 20 --tool-calls 40 --tokens 100000 --spend 1.00 --wall-clock 120s';
    expect((await pawl(['resume', runId, ...limits.split(' ')])).code).toBe(0);
    expect(cli.server.seen.at(-1)?.body).toEqual({
      limits: {
        steps: 20,
        toolCalls: 40,
        tokens: 100_000,
        spend: { amount: '1.00', currency: 'USD' },
        wallClock: '120s',
      },
    });
    const fork = '--from-step 3 --input why --instructions brief --model think=smart --model plan=fast --allow-writes';
    const { code, out } = await pawl(['fork', runId, ...fork.split(' ')]);
    expect(code).toBe(0);
    expect(out).toContain(`pawl get run_${'1'.repeat(32)}`);
    expect(cli.server.seen.at(-1)?.body).toEqual({
      fromStep: 3,
      input: 'why',
      instructions: 'brief',
      models: { think: 'smart', plan: 'fast' },
      allowWrites: true,
    });
  });

  test('what a schema refuses is told before anything is sent; a run that is not paused is a conflict', async () => {
    const wrong = await pawl(['resume', runId, '--spend', 'much', '--wall-clock', '1y']);
    expect(wrong.code).toBe(2);
    expect(wrong.err).toMatch(/wallClock[^]*spend/);
    expect(cli.server.seen).toEqual([]);
    expect(await pawl(['resume', runId])).toMatchObject({ code: 1, err: 'pawl: the run is not paused (conflict)\n' });
  });
});

describe('tools and spending', () => {
  test('tool call prints what the tool answers; exit code 3 when it did not do it', async () => {
    const { code, out } = await pawl(['tool', 'call', 'echo', '--args', '{"id":9007199254740993}']);
    expect(code).toBe(0);
    expect(out).toMatch(/^ok\n/);
    expect(cli.server.seen[0]?.text).toBe('{"args":{"id":9007199254740993}}');
    const failed = await pawl(['tool', 'call', 'shop']);
    expect(failed.code).toBe(3);
    expect(failed.out).toBe('error\nIt is [31m closed.\nTry later.\n');
  });

  test('spend is a table with a sum', async () => {
    const { code, out } = await pawl(['spend', '--by', 'agent,day']);
    expect(code).toBe(0);
    expect(out).toBe(`AGENT    DAY         CALLS  INPUT TOKENS  OUTPUT TOKENS   USD
analyst  2026-11-29     12          1000            200  1.50
-        2026-11-30      1          1000            200  0.25

1.75 USD from 2026-11-01T00:00:00.000Z to 2026-12-01T00:00:00.000Z
`);
    expect(cli.server.seen[0]?.path).toBe('/v1/spend?by=agent%2Cday');
  });
});
