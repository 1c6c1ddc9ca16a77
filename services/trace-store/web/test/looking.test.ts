/** What a reader sees, in a real browser: list, cards, waterfall, explanation, comparison, the overviews. */
import { expect, test } from 'vitest';
import { runIdAt, salesRunFacts } from '../../src/testing/sales-run.ts';
import { usePage } from '../testing/browser.ts';
import { key, type PlayedRun } from '../testing/played-api.ts';

const page = usePage();
const now = Date.now();
const at = (minutesAgo: number) => new Date(now - minutesAgo * 60_000).toISOString();

function salesRun(seed: string, minutesAgo: number): PlayedRun {
  const id = runIdAt(at(minutesAgo), seed);
  return { id, facts: salesRunFacts({ runId: id, startedAt: at(minutesAgo) }) };
}

const whole = salesRun('whole', 60);

test('the list is filtered by its address, and says so when nothing fits', async () => {
  page.api.put(whole);
  const running = salesRun('running', 1);
  page.api.put({ ...running, facts: running.facts.slice(0, 4), run: { question: 'Still going?', session: 'talk-1' } });
  const tab = await page.open('/runs');
  await expect.poll(() => tab.locator('tbody tr').count()).toBe(2);
  await tab.getByLabel('Status').selectOption('running');
  await expect.poll(() => tab.locator('tbody tr').count()).toBe(1);
  await expect.poll(() => tab.url()).toMatch(/\/runs\?status=running$/);
  await tab.getByText('More filters').click();
  await tab.getByLabel('Duration from, s').fill('1.5');
  await tab.getByLabel('Duration from, s').press('Enter');
  await expect.poll(() => tab.url()).toMatch(/minDurationMs=1500$/);
  await tab.goto(`${page.api.url}/runs?stopReason=max_steps`);
  await tab.getByRole('heading', { name: 'No run fits' }).waitFor();
  await tab.getByRole('link', { name: 'Show all runs' }).click();
  await expect.poll(() => tab.locator('tbody tr').count()).toBe(2);
  await tab.getByLabel('Group by session').check();
  await tab.getByRole('heading', { name: 'talk-1' }).waitFor();
  await tab.getByRole('link', { name: 'Still going?' }).click();
  await tab.getByRole('heading', { level: 1, name: 'Still going?' }).waitFor();
  await tab.goBack();
  await expect.poll(() => tab.getByLabel('Group by session').isChecked()).toBe(true);
});

test('a search goes on by itself as long as the store has only looked for a moment', async () => {
  page.api.put(whole);
  const tab = await page.open('/runs?text=sales+revenue');
  await expect.poll(() => tab.locator('tbody tr').count()).toBe(1);
  await expect.poll(() => tab.getByText('Looking further back…').count()).toBe(0);
  await tab.goto(`${page.api.url}/runs?text=nothing+of+the+kind`);
  await tab.getByRole('heading', { name: 'No run fits' }).waitFor();
});

test('a run is shown as cards, with its tables, a chart, and every detail on demand', async () => {
  page.api.put(whole);
  const tab = await page.open(`/runs/${whole.id}`);
  for (const title of ['Agent Thinking', 'Operation Executed', 'Result Obtained', 'Analysis Conclusion']) {
    await tab.getByRole('heading', { name: title }).first().waitFor();
  }
  const chart = tab.getByRole('img', { name: /^value by month: 18,636,000 in 2025-02, 16,400,000 in 2026-02/ });
  await expect.poll(() => chart.count()).toBe(1);
  await expect.poll(() => tab.locator('td.negative', { hasText: '−3,570,000' }).count()).toBe(1);
  await expect.poll(() => tab.getByText('The query names a column that does not exist: "reson".').count()).toBe(1);
  await expect.poll(() => tab.getByText('$0.0111').count()).toBe(1);
  await tab.getByRole('button', { name: 'Expand everything' }).click();
  await tab.getByText('column "reson" does not exist (42703)').waitFor();
  await expect.poll(() => tab.getByText('sim-smart (sim, local)').count()).toBe(5);
  await tab.getByRole('button', { name: 'Show the whole record' }).first().click();
  await tab.getByText('"inputTokens": 912').waitFor();
});

test('the waterfall shows queue, model and tool of each span with its cost, and leads to the card', async () => {
  page.api.put(whole);
  const tab = await page.open(`/runs/${whole.id}?lens=waterfall`);
  await expect.poll(() => tab.locator('.span-row').count()).toBe(11);
  await expect.poll(() => tab.getByRole('img', { name: 'Queued 2 ms, Tool 38 ms' }).count()).toBe(1);
  await expect.poll(() => tab.locator('.span-row', { hasText: '$0.0033' }).count()).toBe(1);
  await tab.getByRole('link', { name: 'query_dataset' }).click();
  await tab.getByRole('heading', { name: 'Step 4' }).waitFor();
  await expect.poll(() => tab.url()).toContain('at=3');
});

test('the explanation has no thoughts, and tells what was not done and why it stopped', async () => {
  page.api.put(whole);
  const tab = await page.open(`/runs/${whole.id}?lens=explanation`);
  const article = tab.locator('article');
  await article.getByRole('heading', { name: 'What was not done' }).waitFor();
  const text = () => expect.poll(() => article.innerText());
  await text().toMatch(/Used aggregate metric \(dimension: product line; .*\): found 4 entries/);
  await text().toMatch(/Tried to use execute sql: did not work\s+The tool reported a problem\./);
  await text().toContain('It had found its answer.');
  await text().not.toMatch(/Known|Missing:|Agent Thinking|select|tokens|tool calls/i);
});

test('two runs are compared step by step', async () => {
  const other = salesRun('other', 30);
  const changed = other.facts.map((fact) =>
    fact.kind === 'observed' && fact.m === 2
      ? { ...fact, observation: { ...fact.observation, message: 'Other words.' } }
      : fact,
  );
  page.api.put(whole);
  page.api.put({ ...other, facts: changed });
  const tab = await page.open('/runs');
  const choices = tab.getByRole('checkbox', { name: /^Choose for comparing: Why did/ });
  await expect.poll(() => choices.count()).toBe(2);
  await choices.first().check();
  await choices.last().check();
  await tab.getByRole('link', { name: 'Compare the two chosen runs' }).click();
  await tab.getByText('They part at step 3.').waitFor();
  await expect.poll(() => tab.getByText('other result').count()).toBe(1);
  await tab.getByLabel('Show only what differs').check();
  await expect.poll(() => tab.locator('.compared').count()).toBe(1);
});

test('T8, A7: what is missing, not readable or lost is shown as that', async () => {
  const torn = salesRun('torn', 20);
  page.api.put({
    ...torn,
    facts: torn.facts.filter((fact) => !(fact.kind === 'observed' && (fact.m === 0 || fact.m === 3))),
    missing: ['observed.0.0'],
    unreadable: [{ slot: 'observed.3.0', reason: 'too_deep', sizeBytes: 100_000 }],
  });
  const tab = await page.open(`/runs/${torn.id}`);
  await tab.getByText('2 records of this run are missing or not readable.').waitFor();
  await expect
    .poll(() => tab.locator('.card.lost').allInnerTexts())
    .toEqual([
      expect.stringContaining('This record is missing.'),
      expect.stringContaining('it is nested too deeply (100,000 bytes)'),
    ]);
  const silent = salesRun('silent', 600);
  page.api.put({ ...silent, facts: silent.facts.slice(0, 3) });
  await tab.goto(`${page.api.url}/runs/${silent.id}`);
  await tab.getByText(/It should have ended by .* nothing has come since/).waitFor();
  await expect.poll(() => tab.locator('.meta .chip').innerText()).toBe('Lost');
});

test('budgets and health say how things stand', async () => {
  page.api.put(whole);
  const tab = await page.open('/budgets');
  await tab.getByRole('heading', { name: 'daily' }).waitFor();
  await expect
    .poll(() => tab.locator('.budget').first().innerText())
    .toMatch(/Spent\s+\$14\.64\s+Held\s+\$1\.25\s+Left\s+\$4\.11\s+Limit\s+\$20\.00/);
  await tab.getByRole('img', { name: /What is left: At this pace it is gone / }).waitFor();
  await tab.getByText('At this pace it lasts to the end of the window.').waitFor();
  await expect
    .poll(() => tab.locator('.budget', { hasText: 'reais' }).innerText())
    .toMatch(/user ana · in total\s+Spent\s+R\$12\.50\s+Held\s+R\$0\s+Left\s+R\$87\.50\s+Limit\s+R\$100\.00/);
  await expect
    .poll(() => tab.locator('.budget', { hasText: 'at-once' }).innerText())
    .toMatch(/key key_1\s+Under way\s+3 at once\s+Left\s+5 at once\s+Limit\s+8 at once/);
  await tab.getByRole('link', { name: 'Health' }).click();
  await tab.getByText('Every fact is stored').waitFor();
  await expect
    .poll(() => tab.locator('.queues tbody tr').allInnerTexts())
    .toEqual([
      expect.stringMatching(/Thinking interactive\s+2\s+4\s+400 ms\s+Flows/),
      expect.stringMatching(/Thinking batch\s+12,400\s+8\s+1 min 35 s\s+Waits long/),
      expect.stringMatching(/Tools default\s+0\s+0\s+–\s+Empty/),
      expect.stringMatching(/Tools browser\s+7\s+0\s+1 min 1 s\s+Nobody takes it/),
    ]);
  await tab.getByText('Follows the log').waitFor();
  await tab.getByRole('heading', { name: 'The last 24 hours' }).waitFor();
  await expect
    .poll(() => tab.getByRole('img', { name: /^Stopped by a fault by hour: .* Lowest 0, highest 9\.$/ }).count())
    .toBe(1);
  await expect.poll(() => tab.getByRole('row', { name: /^execute_sql 24 25% 0 4\.2 s$/ }).count()).toBe(1);
  page.api.answerWith('/v1/tools', { status: 503, body: {} });
  await tab.locator('.service', { hasText: 'tool-runner' }).getByText('Does not answer').waitFor();
});

test('an error of a service is told in the language of the reader', async () => {
  const detail = 'the ledger does not answer';
  page.api.answerWith('/v1/budgets', { status: 503, body: { code: 'unavailable', detail } });
  const tab = await page.open('/budgets');
  const alert = () => expect.poll(() => tab.getByRole('alert').innerText());
  await alert().toContain(`A part that is needed does not answer. It is tried again. (${detail})`);
  await tab.getByRole('combobox').first().selectOption({ label: 'Português' });
  await alert().toContain(`Uma parte necessária não responde. Será tentado de novo. (${detail})`);
});

test('without a key the page asks for one, and a wrong one is told apart from none', async () => {
  const tab = await page.open('/runs');
  await tab.getByRole('button', { name: 'Forget the key' }).click();
  await tab.getByRole('heading', { name: 'Whose runs?' }).waitFor();
  await tab.getByLabel('Key of the app').fill('wrong');
  await tab.getByRole('button', { name: 'Open' }).click();
  await tab.getByRole('alert').getByText('This key is not accepted.').waitFor();
  await tab.getByLabel('Key of the app').fill(key);
  await tab.getByRole('button', { name: 'Open' }).click();
  await tab.getByRole('heading', { name: 'Runs' }).waitFor();
  await expect.poll(() => tab.url()).not.toContain(key);
});

test.each([
  ['zh', '中文', ['智能体思考', '执行操作', '获得结果', '分析结论'], 'zh-CN'],
  [
    'pt',
    'Português',
    ['Raciocínio do agente', 'Operação executada', 'Resultado obtido', 'Conclusão da análise'],
    'pt-BR',
  ],
  ['en', 'English', ['Agent Thinking', 'Operation Executed', 'Result Obtained', 'Analysis Conclusion'], 'en-US'],
])('the page speaks %s and remembers it', async (...[, name, titles, lang]) => {
  page.api.put(whole);
  const tab = await page.open(`/runs/${whole.id}`);
  await tab.getByRole('combobox').first().selectOption({ label: name });
  for (const title of titles) await tab.getByRole('heading', { name: title }).first().waitFor();
  await tab.reload();
  await tab
    .getByRole('heading', { name: titles[0] ?? '' })
    .first()
    .waitFor();
  await expect.poll(() => tab.locator('html').getAttribute('lang')).toBe(lang);
});

test('colours follow the system until the reader chooses', async () => {
  const tab = await page.open('/runs', { colorScheme: 'dark' });
  const redOfGround = () =>
    expect.poll(() => tab.evaluate(() => Number(/\d+/.exec(getComputedStyle(document.body).backgroundColor)?.[0])));
  await redOfGround().toBeLessThan(64);
  await tab.getByLabel('Colours').selectOption('light');
  await redOfGround().toBeGreaterThan(192);
  await tab.reload();
  await tab.locator('h1').waitFor();
  await redOfGround().toBeGreaterThan(192);
});
