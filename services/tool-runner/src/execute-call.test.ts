import { parseArguments } from '@pawl/calls';
import { UnavailableError } from '@pawl/contracts';
import { newTraceContext } from '@pawl/telemetry';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { createCircuits, type Circuits } from './call/circuit.ts';
import { refusal } from './call/outcome.ts';
import { executeCall } from './execute-call.ts';
import { toolOf } from './testing/runner-bench.ts';
import type { Kind } from './kinds/kind.ts';

/** What comes of a call whose kind throws this, each time. */
async function outcomeOf(thrown: Error) {
  return await outcomeFrom(() => Promise.reject(thrown), createCircuits());
}

async function outcomeFrom(execute: Kind['execute'], circuits: Circuits) {
  const kind: Kind = { check: () => {}, close: async () => {}, execute };
  const parsed = parseArguments('{}');
  if ('failure' in parsed) throw new Error(parsed.failure.message);
  return await executeCall({
    kind,
    call: {
      app: 'demo',
      tool: toolOf('get', { http: { method: 'GET', url: 'http://tools.example/' } }),
      args: parsed.args,
      runId: undefined,
      effectKey: undefined,
      trace: newTraceContext(),
      signal: new AbortController().signal,
      maxChars: 2_000,
      deadlineAtMs: Date.now() + 30_000,
      spool: undefined,
      onLife: () => {},
      answerTo: undefined,
      askedAtMs: undefined,
      callTool: () => Promise.reject(new Error('unused')),
    },
    circuits,
    times: { timeoutMs: 30_000, idleMs: undefined },
    lateCalls: { underWay: 0 },
  });
}

describe('what a kind throws', () => {
  test('a store that is away is worth another try, and no mistake of ours', async () => {
    const { outcome, attempt } = await outcomeOf(new UnavailableError('NATS does not answer'));
    expect(outcome).toMatchObject({ kind: 'failure', code: 'tool_failed', isTransient: true, effect: 'possible' });
    expect(attempt).toBe(2);
  });

  test('anything else is a mistake that costs this call alone', async () => {
    const { outcome, attempt } = await outcomeOf(new TypeError('a bug'));
    expect(outcome).toMatchObject({
      kind: 'failure',
      code: 'internal_error',
      rawError: expect.stringContaining('a bug'),
    });
    expect(attempt).toBe(1);
  });
});

describe('an upstream that rests', () => {
  afterEach(() => void vi.useRealTimers());

  test('is asked again after ten seconds, also where the clock of the machine is set back meanwhile', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'performance'] });
    const circuits = createCircuits();
    let asked = 0;
    const ask = () =>
      outcomeFrom(() => {
        asked += 1;
        return Promise.resolve(refusal('tool_unreachable', 'It is not there.'));
      }, circuits);
    for (let times = 0; times < 10; times += 1) await ask();
    const before = asked;
    vi.setSystemTime(Date.now() - 3_600_000);
    vi.advanceTimersByTime(10_001);
    await ask();
    expect(asked).toBeGreaterThan(before);
  });
});
