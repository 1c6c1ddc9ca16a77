import { describe, expect, test } from 'vitest';
import { createCircuits } from './circuit.ts';
import { refusal, type Outcome } from './outcome.ts';

const down: Outcome = { ...refusal('tool_unreachable', 'Gone.'), isTransient: true };
const fine: Outcome = { kind: 'result', data: '1' };

function failing(times: number) {
  const circuits = createCircuits();
  for (let at = 0; at < times; at += 1) circuits.tell('u', down, 0);
  return circuits;
}

describe('circuits', () => {
  test('an upstream rests after five failures in a row, and others do not', () => {
    expect(failing(4).mayCall('u', 1)).toBe(true);
    const circuits = failing(5);
    expect(circuits.mayCall('u', 9_999)).toBe(false);
    expect(circuits.mayCall('other', 1)).toBe(true);
  });

  test('after its rest one call tries, and its result decides', () => {
    const circuits = failing(5);
    expect([circuits.mayCall('u', 10_000), circuits.mayCall('u', 10_000)]).toEqual([true, false]);
    circuits.tell('u', down, 10_001);
    expect(circuits.mayCall('u', 20_000)).toBe(false);
    expect(circuits.mayCall('u', 20_001)).toBe(true);
    circuits.tell('u', fine, 20_002);
    expect([circuits.mayCall('u', 20_003), circuits.mayCall('u', 20_003)]).toEqual([true, true]);
  });

  test('a cancelled try does not keep the circuit closed for ever', () => {
    const circuits = failing(5);
    expect(circuits.mayCall('u', 10_000)).toBe(true);
    circuits.tell('u', refusal('run_stopped', 'Stopped.'), 10_001);
    expect(circuits.mayCall('u', 10_002)).toBe(true);
  });

  test('an answer that refuses the call is an answer', () => {
    const circuits = failing(4);
    circuits.tell('u', refusal('tool_failed', 'No such order.'), 1);
    circuits.tell('u', down, 2);
    expect(circuits.mayCall('u', 3)).toBe(true);
  });
});
