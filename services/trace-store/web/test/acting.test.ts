/** What a reader does, in a real browser: follow a run, decide on calls, cancel, tell, resume, fork. */
import { expect, test } from 'vitest';
import type { Acted, Fact, PendingCall, Thought } from '@pawl/contracts';
import { runIdAt, salesRunFacts } from '../../src/testing/sales-run.ts';
import { usePage } from '../testing/browser.ts';
import type { PlayedRun } from '../testing/played-api.ts';

const page = usePage();
const argsHash = 'a'.repeat(64);

function runOf(seed: string): { run: PlayedRun; rest: Fact[] } {
  const startedAt = new Date().toISOString();
  const id = runIdAt(startedAt, seed);
  const facts = salesRunFacts({ runId: id, startedAt });
  return { run: { id, facts: facts.slice(0, 4) }, rest: facts.slice(4) };
}

/** A run that waits for a person on its first call. */
function waitingRun(seed: string, call: Partial<PendingCall> = {}): PlayedRun {
  const { run } = runOf(seed);
  const [started, thought, acted] = run.facts as [Fact, Thought, Acted];
  const args = '{"order_id":"BR-77","amount":248.5}';
  const admission = call.kind === 'input' ? 'input' : 'approval';
  const calls: Acted['calls'] = [
    { i: 0, callId: 'call_0_0', tool: 'refund', args, argsHash, admission, why: 'Above 100 BRL.' },
  ];
  const pending: PendingCall = {
    callId: 'call_0_0',
    tool: 'refund',
    args: JSON.parse(args),
    argsHash,
    expiresAt: new Date(Date.now() + 3_600_000).toISOString(),
    why: 'Above 100 BRL.',
    kind: 'approval',
    ...call,
  };
  const asked = { ...thought, calls: [{ id: 'x', tool: 'refund', args }] };
  return { ...run, facts: [started, asked, { ...acted, calls }], pending: [pending] };
}

const askedOf = (run: PlayedRun) => page.api.asked.filter(({ path }) => path.includes(run.id));

test('a run is followed live, word by word, over a broken connection, to its end', async () => {
  const { run, rest } = runOf('live');
  page.api.put(run);
  const tab = await page.open(`/runs/${run.id}`);
  await tab.getByText('Going on…').waitFor();
  await expect
    .poll(() => {
      page.api.delta(run.id, 'Where does the drop come from? ');
      return tab.locator('.speaking').innerText({ timeout: 200 });
    })
    .toContain('Where does the drop come from?');
  for (const fact of rest.slice(0, 3)) page.api.say(run.id, fact);
  await tab.getByRole('heading', { name: 'Step 2' }).waitFor();
  await expect.poll(() => tab.locator('.speaking').count()).toBe(0);
  await expect.poll(() => tab.getByText('Waiting for the result…').count()).toBe(2);
  page.api.cutStreams();
  for (const fact of rest.slice(3)) page.api.say(run.id, fact);
  await tab.getByRole('heading', { name: 'Analysis Conclusion' }).waitFor();
  await expect.poll(() => tab.getByRole('heading', { name: /^Step \d/ }).count()).toBe(4);
  await expect.poll(() => tab.locator('.card.operation').count()).toBe(6);
  await expect.poll(() => tab.getByText('Going on…').count()).toBe(0);
  await expect.poll(() => tab.locator('.meta .chip').innerText()).toBe('Answered');
});

test('an approval carries the hash of what was shown', async () => {
  const run = waitingRun('approve');
  page.api.put(run);
  const tab = await page.open(`/runs/${run.id}`);
  await tab.getByRole('heading', { name: 'Waiting for your decision' }).waitFor();
  await expect.poll(() => tab.locator('.pending').innerText()).toMatch(/Above 100 BRL\.[\s\S]*refund[\s\S]*BR-77/);
  await expect.poll(() => tab.locator('.meta .chip').innerText()).toBe('Needs approval');
  await tab.getByRole('button', { name: 'Approve', exact: true }).click();
  await expect.poll(() => askedOf(run)).toMatchObject([{ path: `/v1/runs/${run.id}/approvals/call_0_0` }]);
  expect(askedOf(run)[0]?.body).toEqual({ decision: 'approve', argsHash });
  await expect.poll(() => tab.getByRole('status').allInnerTexts()).toContain('Your decision was taken.');
});

test('a denial carries its reason, and one that came too late is told', async () => {
  const run = waitingRun('deny');
  page.api.put(run);
  const tab = await page.open('/approvals');
  await tab.locator('.waiting-run', { hasText: 'refund' }).last().waitFor();
  await tab.goto(`${page.api.url}/runs/${run.id}`);
  await tab.getByRole('button', { name: 'Deny' }).click();
  await tab.getByLabel('Why not? The agent is told.').fill('The invoice is not paid.');
  await tab.getByRole('button', { name: 'Deny' }).click();
  await expect.poll(() => askedOf(run).length).toBe(1);
  expect(askedOf(run)[0]?.body).toEqual({ decision: 'deny', argsHash, reason: 'The invoice is not paid.' });
  page.api.answerWith(`/v1/runs/${run.id}/approvals/call_0_0`, {
    status: 409,
    body: { detail: 'The tool was changed.', code: 'conflict' },
  });
  await tab.getByRole('button', { name: 'Deny' }).click();
  await tab
    .getByRole('alert')
    .getByText(/^This no longer applies.*\(The tool was changed\.\)$/)
    .waitFor();
});

test('arguments are edited digit for digit, and only into a JSON object', async () => {
  const run = waitingRun('edit');
  page.api.put(run);
  const tab = await page.open(`/runs/${run.id}`);
  await tab.getByRole('button', { name: 'Change the arguments' }).click();
  const field = tab.getByLabel('Arguments (JSON)');
  await expect
    .poll(async () => JSON.parse(await field.inputValue()) as unknown)
    .toEqual({ order_id: 'BR-77', amount: 248.5 });
  await field.fill('{"amount": ');
  await tab.getByText('This is not a JSON object.').waitFor();
  await expect.poll(() => tab.getByRole('button', { name: 'Approve with these arguments' }).isDisabled()).toBe(true);
  const args = '{"order_id": 9007199254740993, "amount": 100.00}';
  await field.fill(args);
  await tab.getByRole('button', { name: 'Approve with these arguments' }).click();
  // As text: that is how the orchestrator takes numbers that no JSON parser may round.
  await expect.poll(() => askedOf(run)[0]?.body).toEqual({ decision: 'edit', argsHash, args });
});

test('a question of the agent is answered', async () => {
  const run = waitingRun('ask', { kind: 'input', why: 'Which month do you mean?' });
  page.api.put(run);
  const tab = await page.open(`/runs/${run.id}`);
  await tab.getByText('Which month do you mean?').first().waitFor();
  await tab.getByLabel('Your answer').fill('February');
  await tab.getByRole('button', { name: 'Send', exact: true }).click();
  await expect
    .poll(() => askedOf(run))
    .toMatchObject([{ path: `/v1/runs/${run.id}/signals`, body: { text: 'February' } }]);
});

test('a running run is cancelled and told something, with the keyboard alone', async () => {
  const { run } = runOf('cancel');
  page.api.put(run);
  const tab = await page.open(`/runs/${run.id}`);
  await tab.getByRole('button', { name: 'Send a message' }).focus();
  await tab.keyboard.press('Enter');
  await tab.getByRole('dialog').waitFor();
  await tab.getByLabel('Message', { exact: true }).fill('Look at March, too.');
  await tab.keyboard.press('Tab');
  await tab.keyboard.press('Tab');
  await tab.keyboard.press('Enter');
  await expect.poll(() => askedOf(run)[0]?.body).toEqual({ text: 'Look at March, too.' });
  await tab.getByRole('dialog').waitFor({ state: 'detached' });
  await tab.getByRole('button', { name: 'Cancel the run' }).click();
  await tab.keyboard.press('Escape');
  await tab.getByRole('dialog').waitFor({ state: 'detached' });
  expect(askedOf(run)).toHaveLength(1);
  await tab.getByRole('button', { name: 'Cancel the run' }).click();
  await tab.getByLabel('Reason (optional)').fill('wrong question');
  await tab.getByRole('dialog').getByRole('button', { name: 'Cancel the run' }).click();
  await expect
    .poll(() => askedOf(run)[1])
    .toMatchObject({ path: `/v1/runs/${run.id}/cancel`, body: { reason: 'wrong question' } });
});

test('a paused run is resumed with more', async () => {
  const { run, rest } = runOf('resume');
  const end = rest.at(-1);
  if (end?.kind !== 'ended') throw new TypeError('the last fact is ended');
  page.api.put({
    ...run,
    facts: [...run.facts, { ...end, kind: 'paused', k: 0, stopReason: 'max_steps', partial: true }],
  });
  const tab = await page.open(`/runs/${run.id}`);
  await tab.getByText('This answer is partial').waitFor();
  await tab.getByRole('button', { name: 'Resume with more' }).click();
  await tab.getByLabel('Steps', { exact: true }).fill('20');
  await tab.getByLabel('Money, USD').fill('0.80');
  await tab.getByRole('button', { name: 'Resume', exact: true }).click();
  await expect
    .poll(() => askedOf(run)[0]?.body)
    .toEqual({ limits: { steps: 20, spend: { amount: '0.80', currency: 'USD' } } });
});

test('a run is forked from a step', async () => {
  const { run, rest } = runOf('fork');
  page.api.put({ ...run, facts: [...run.facts, ...rest] });
  page.api.put({ ...runOf('forked').run, id: 'run_forked', run: { question: 'And in March?' } });
  const tab = await page.open(`/runs/${run.id}`);
  await tab.getByRole('button', { name: 'Fork from here: Step 2' }).click();
  await tab.getByLabel('Other question').fill('And in March?');
  await tab.getByRole('button', { name: 'Fork', exact: true }).click();
  await tab.getByRole('heading', { level: 1, name: 'And in March?' }).waitFor();
  expect(askedOf(run)[0]?.body).toEqual({ fromStep: 2, input: 'And in March?' });
});
