import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Definition } from '@pawl/contracts';
import { definitionWith, started, startMs } from '../run/story.suite.ts';
import { createLiveRun } from './live-run.ts';
import type { Effect } from './perform.ts';

beforeEach(() => void vi.useFakeTimers({ now: startMs + 1_000 }));
afterEach(() => void vi.useRealTimers());

/** A definition that no decision can be made with, as after a mistake of ours. */
function brokenDefinition(): Definition {
  const definition = definitionWith([{ name: 'search' }]);
  Object.defineProperty(definition.agent.object.spec, 'reflection', {
    get() {
      throw new TypeError('a mistake of ours');
    },
  });
  return definition;
}

function runWith(definition: Definition) {
  const effects: Effect[] = [];
  const errors: unknown[] = [];
  const run = createLiveRun({
    started: started(),
    perform: async (effect) => void effects.push(effect),
    changedAtMs: () => undefined,
    isOwned: () => true,
    onError: (error) => void errors.push(error),
  });
  run.define(definition);
  return { run, effects, errors };
}

test('what failed is tried again a second later, also where the clock of the machine is set back meanwhile', async () => {
  let tries = 0;
  const run = createLiveRun({
    started: started(),
    perform: () => ((tries += 1) === 1 ? Promise.reject(new Error('NATS is away')) : Promise.resolve()),
    changedAtMs: () => undefined,
    isOwned: () => true,
    onError: () => {},
  });
  run.define(definitionWith([{ name: 'search' }]));
  run.drive();
  await vi.advanceTimersByTimeAsync(100);
  run.tick();
  expect(tries).toBe(1);
  vi.setSystemTime(startMs - 3_600_000);
  vi.advanceTimersByTime(1_000);
  run.tick();
  expect(tries).toBe(2);
});

describe('a run about which we make a mistake', () => {
  test('waits, and is tried again, without harm to whoever drives it', () => {
    const { run, effects, errors } = runWith(brokenDefinition());
    run.drive();
    expect(effects).toEqual([]);
    expect(errors).toEqual([new TypeError('a mistake of ours')]);
    vi.advanceTimersByTime(11_000);
    run.tick();
    expect(errors).toHaveLength(2);
  });

  test('goes on where a replica can do better', () => {
    const { run, effects } = runWith(brokenDefinition());
    run.drive();
    run.define(definitionWith([{ name: 'search' }]));
    vi.advanceTimersByTime(11_000);
    run.tick();
    expect(effects).toMatchObject([{ type: 'think', m: 0 }]);
  });

  test('ends when its time is over', () => {
    const { run, effects } = runWith(brokenDefinition());
    run.drive();
    vi.advanceTimersByTime(130_000);
    run.tick();
    expect(effects).toMatchObject([{ type: 'write', fact: { kind: 'ended', stopReason: 'internal_error' } }]);
  });
});
