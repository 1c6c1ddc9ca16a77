import { stopReasons, type RunView } from '@pawl/contracts';
import { describe, expect, test } from 'vitest';
import { runId, runView } from '../testing/run-server.ts';
import { pausedRun, waitingRun } from '../testing/waiting-run.ts';
import { describeRun, listOfPending, listOfRuns } from './describe-run.ts';
import { nextSteps } from './next-steps.ts';

const commandsOf = (run: Partial<RunView>) =>
  nextSteps({ ...pausedRun, ...run }, 'pawl').map(({ command }) => command.replace(runId, 'R'));

describe('what to type next', () => {
  test.for([
    [{ stopReason: 'max_steps', steps: 10 }, 'pawl resume R --steps 20'],
    [{ stopReason: 'max_tool_calls', toolCalls: 20 }, 'pawl resume R --tool-calls 40'],
    [{ stopReason: 'max_tokens', tokens: 50_000 }, 'pawl resume R --tokens 100000'],
    [
      { stopReason: 'max_spend', cost: { nanoUsd: '400000001', amount: '0.400000001', currency: 'USD' } },
      'pawl resume R --spend 0.800000001',
    ],
    [{ stopReason: 'deadline' }, 'pawl resume R'],
    [{ stopReason: 'repeated_action' }, 'pawl signal R "<what to do instead>"'],
    [{ status: 'running', stopReason: null }, 'pawl get R'],
    [{ status: 'ended', stopReason: 'cancelled', steps: 0 }, 'pawl fork R --from-step 1'],
    [{ ...waitingRun }, 'pawl approve R call_0_0'],
  ] as [Partial<RunView>, string][])('%o: %s', ([run, command]) => {
    expect(commandsOf(run)[0]).toBe(command);
  });

  test('a paused run always has a way on, one with its final answer needs none', () => {
    for (const stopReason of stopReasons) expect(commandsOf({ stopReason })).not.toEqual([]);
    expect(commandsOf({ status: 'ended', stopReason: 'final_answer' })).toEqual([]);
  });

  test('a question is answered with a signal', () => {
    const pending = [{ ...waitingRun.pending[0]!, kind: 'input' as const, why: 'Which year?' }];
    expect(commandsOf({ ...waitingRun, pending })).toEqual(['pawl signal R "<your answer>"']);
    expect(describeRun({ ...waitingRun, pending }, 'pawl')).toContain('an answer to: Which year?');
  });
});

test('a waiting run shows phase, plan, arguments and their hash, and the commands as they were called', () => {
  expect(describeRun(waitingRun, 'npx pawl --app other')).toBe(`run ${runId} waiting: waiting_approval
  agent analyst · phase waiting · steps 1 · tool calls 0 · tokens 10 · 0.01 USD

plan
  ✓ look the order up
  · pay back

waits for
  call_0_0  a decision on refund
    arguments  {"amount":120,"note":"x\\u001b[2Jy"}
    why        amounts above 100
    hash       ${'c'.repeat(64)}
    expires    2026-12-01T10:00:00.000Z

next
  npx pawl --app other approve ${runId} call_0_0
      let it call refund with these arguments
  npx pawl --app other approve ${runId} call_0_0 --edit '<arguments as JSON>'
      let it call with others
  npx pawl --app other deny ${runId} call_0_0 --reason "<why>"
      it is told why and looks for another way`);
});

test('arguments are never cut, and their marks that reorder text do not reach the terminal', () => {
  const args = { text: `${'x'.repeat(3_000)}\u202E` };
  const shown = describeRun({ ...waitingRun, pending: [{ ...waitingRun.pending[0]!, args }] }, 'pawl');
  expect(shown).toContain('x'.repeat(3_000));
  expect(shown).not.toContain('\u202E');
});

test('lists', () => {
  expect(listOfRuns([], 'pawl')).toContain('pawl run');
  expect(listOfRuns([runView], 'pawl')).toMatch(/^RUN +AGENT +STATE +USD +STARTED\nrun_0+ +analyst +final_answer/);
  expect(listOfPending([pausedRun], 'pawl')).toBe('Nothing waits for people.');
  expect(listOfPending([waitingRun], 'pawl')).toMatch(/call_0_0 +analyst +decision +refund \{"amount":120/);
});
