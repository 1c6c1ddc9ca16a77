/** What the page withstands, in a real browser: hostile content, huge runs, readers who can't see it. */
import { describe, expect, test } from 'vitest';
import type { Fact } from '@pawl/contracts';
import { createHttp, createLog } from '@pawl/service';
import { servePage } from '../../src/http/page.ts';
import { runIdAt, salesRunFacts } from '../../src/testing/sales-run.ts';
import { usePage } from '../testing/browser.ts';
import { countBytes, findBarriers, scroll } from '../testing/measure.ts';
import type { PlayedRun } from '../testing/played-api.ts';

const page = usePage();
const startedAt = new Date(Date.now() - 3_600_000).toISOString();

function salesRun(seed: string): PlayedRun {
  const id = runIdAt(startedAt, seed);
  return { id, facts: salesRunFacts({ runId: id, startedAt }) };
}

const payloads = [
  '<img src=x onerror="document.title=\'owned\'">',
  '<svg onload=alert(1)><script>alert(2)</script></svg>',
  '[click](javascript:alert(3)) ![pixel](https://evil.example/p.png)',
  '\u001b[31mred\u001b[0m \u202Egnp.exe\u202C \u2066isolated\u2069',
  '"><iframe src=https://evil.example></iframe>',
  'عربي نص من اليمين إلى اليسار',
].join('\n');

/** Payloads wherever a model, a tool or a user can put text. */
function hostileRun(): PlayedRun {
  const { id, facts } = salesRun('hostile');
  const data = JSON.stringify({ rows: [{ [payloads.slice(0, 40)]: payloads, n: 1 }] });
  const bad = (fact: Fact): Fact => {
    switch (fact.kind) {
      case 'started':
        return { ...fact, input: payloads, user: { id: payloads.slice(0, 190) }, session: payloads };
      case 'thought':
        return { ...fact, text: payloads, route: { provider: payloads, model: payloads, routeReason: payloads } };
      case 'acted':
        return {
          ...fact,
          calls: fact.calls.map((call) => ({
            ...call,
            tool: payloads,
            args: JSON.stringify({ [payloads]: payloads }),
          })),
        };
      case 'observed':
        return {
          ...fact,
          rawError: payloads,
          observation: {
            ...fact.observation,
            status: 'error',
            data,
            message: payloads,
            suggestion: payloads,
            errorCode: payloads,
          },
        };
      case 'ended':
        return { ...fact, answer: payloads, detail: payloads, stopReason: 'internal_error' };
      default:
        return fact;
    }
  };
  return { id, facts: facts.map(bad) };
}

describe('T12: hostile content', () => {
  test.each(['', '?lens=waterfall', '?lens=explanation'])('is text and nothing else in the lens %j', async (lens) => {
    const run = hostileRun();
    page.api.put(run);
    const tab = await page.open(`/runs/${run.id}${lens}`);
    if (lens === '') await tab.getByRole('button', { name: 'Expand everything' }).click();
    const text = () => expect.poll(() => tab.locator('main').innerText());
    await text().toContain('<img src=x onerror=');
    await text().toContain('⟨U+202E⟩');
    for (const hidden of ['\u202E', '\u202C', '\u2066', '\u001b']) await text().not.toContain(hidden);
    const markup = tab.locator('main :is(img, script, iframe, object, [onerror], [onload], a[href^="javascript"])');
    await expect.poll(() => markup.count()).toBe(0);
    await expect.poll(() => tab.title()).not.toBe('owned');
    await expect.poll(() => tab.title()).not.toMatch(/[\u202A-\u202E\u2066-\u2069]/);
  });

  test('is text in the list, too, and right-to-left text runs from the right', async () => {
    const run = hostileRun();
    page.api.put(run);
    page.api.put({ ...salesRun('rtl'), run: { question: 'لماذا انخفضت المبيعات فجأة؟' } });
    const tab = await page.open('/runs');
    await tab.getByText('<img src=x').first().waitFor();
    const arabic = tab.getByRole('link', { name: /لماذا/ });
    await expect.poll(() => arabic.evaluate((link) => getComputedStyle(link).direction)).toBe('rtl');
    for (const path of ['/runs?group=session', '/sessions']) {
      await tab.goto(`${page.api.url}${path}`);
      await tab.locator('.session h2', { hasText: '⟨U+202E⟩' }).waitFor();
    }
  });

  test('would not run even if it were markup: the policy allows nothing but own files', async () => {
    const response = await fetch(`${page.api.url}/runs`);
    const policy = response.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(policy).toContain("; img-src 'self' blob:;");
    expect(policy).not.toContain('unsafe');
    expect(await response.text()).not.toMatch(/<script(?![^>]*src=)|<style|\son\w+=/);
  });
});

describe('T11: large runs', () => {
  test('400 steps of 100 KB paint under 300 KB, and bodies come when they are asked for', async () => {
    const run = longRun('large', {
      steps: 400,
      dataOf: (m) => JSON.stringify(`${m} `.repeat(50_000).slice(0, 100_000)),
    });
    page.api.put(run);
    const tab = await page.open('/runs');
    const bytes = await countBytes(tab);
    await tab.goto(`${page.api.url}/runs/${run.id}`);
    await tab.getByRole('heading', { name: /^Step 1(?!\d)/ }).waitFor();
    await tab.waitForLoadState('networkidle');
    expect(bytes.sum()).toBeLessThan(300_000);
    expect(bytes.sum()).toBeGreaterThan(10_000);
    await tab.getByRole('button', { name: 'Load it' }).first().click();
    await tab
      .getByRole('button', { name: /^Show all 100,000 characters$|^Show all 99,/ })
      .first()
      .waitFor();
  });

  test('10,000 steps are scrolled through while a few stand in the document', async () => {
    const run = longRun('long', { steps: 10_000, dataOf: (m) => `{"row":${m}}` });
    page.api.put(run);
    const tab = await page.open(`/runs/${run.id}`);
    await tab.getByRole('heading', { name: /^Step 1(?!\d)/ }).waitFor();
    const { moved, drawnMax } = await scroll(tab, { frames: 60, counted: 'li.step' });
    expect(moved).toBeGreaterThan(20_000);
    expect(drawnMax).toBeLessThan(40);
    expect(drawnMax).toBeGreaterThan(1);
    await tab.goto(`${page.api.url}/runs/${run.id}?at=9000`);
    await tab.getByRole('heading', { name: /^Step 9001(?!\d)/ }).waitFor();
    await tab.goto(`${page.api.url}/runs/${run.id}?lens=waterfall`);
    await tab.locator('.span-row').first().waitFor();
    const waterfall = await scroll(tab, { frames: 60, counted: '.span-row' });
    expect(waterfall.moved).toBeGreaterThan(20_000);
    expect(waterfall.drawnMax).toBeLessThan(120);
  });
});

test('T11: two large runs are compared without loading all of them, and without claims on what was not loaded', async () => {
  const [left, right] = ['left', 'right'].map((seed) =>
    longRun(seed, { steps: 400, dataOf: (m) => JSON.stringify(`${seed}${m} `.repeat(20_000).slice(0, 100_000)) }),
  ) as [PlayedRun, PlayedRun];
  page.api.put(left);
  page.api.put(right);
  const tab = await page.open('/runs');
  const bytes = await countBytes(tab);
  await tab.goto(`${page.api.url}/compare?a=${left.id}&b=${right.id}`);
  await tab.getByText('No difference was found in what has been loaded.').waitFor();
  await tab.waitForLoadState('networkidle');
  expect(bytes.sum()).toBeLessThan(600_000);
  await expect.poll(() => tab.locator('.compared').count()).toBe(100);
  await expect.poll(() => tab.locator('p.quiet', { hasText: /^Missing$/ }).count()).toBe(0);
  const unloaded = tab.locator('.compared-call').first().getByRole('button', { name: 'Load it' });
  await unloaded.last().click();
  await expect.poll(() => unloaded.count()).toBe(1);
  await unloaded.click();
  await tab.getByText('They part at step 1.').waitFor();
  await tab.getByRole('button', { name: /^Show more/ }).click();
  await expect.poll(() => tab.locator('.compared').count()).toBe(200);
});

function longRun(seed: string, { steps, dataOf }: { steps: number; dataOf: (m: number) => string }): PlayedRun {
  const { id, facts } = salesRun(seed);
  const [started, thought, acted, observed] = facts as [Fact, Fact, Fact, Fact];
  const end = facts.at(-1);
  if (thought.kind !== 'thought' || acted.kind !== 'acted' || observed.kind !== 'observed' || !end)
    throw new TypeError();
  const turns = Array.from({ length: steps }, (_, m): Fact[] => [
    { ...thought, m },
    { ...acted, m, step: m + 1 },
    { ...observed, m, observation: { ...observed.observation, data: dataOf(m) } },
  ]);
  return { id, facts: [started, ...turns.flat(), end] };
}

describe('a reader who can not see the page', () => {
  test.each([
    ['/runs', 'tbody tr', {}],
    ['/runs', 'tbody tr', { colorScheme: 'dark' as const, viewport: { width: 380, height: 800 } }],
    ['run', '.card.conclusion', {}],
    ['run', '.card.conclusion', { colorScheme: 'dark' as const }],
    ['run?lens=waterfall', '.span-row', {}],
    ['run?lens=waterfall', '.span-row', { colorScheme: 'dark' as const, viewport: { width: 380, height: 800 } }],
    ['run?lens=explanation', 'article h2', { colorScheme: 'dark' as const }],
    ['/budgets', '.budget', {}],
    ['/health', '.service', { colorScheme: 'dark' as const }],
    ['/approvals', '.pending', {}],
    ['/compare?both', '.compared', {}],
    ['run?dialog', '.card', {}],
  ])('finds no barrier at %s once there is %s %o', async (path, content, options) => {
    const run = salesRun('axe');
    page.api.put(run);
    const waiting = salesRun('waiting');
    const why = 'Above 100 BRL.';
    const call = {
      callId: 'call_0_0',
      tool: 'refund',
      args: { amount: 248.5 },
      argsHash: 'a',
      expiresAt: startedAt,
      why,
    };
    page.api.put({
      ...waiting,
      facts: waiting.facts.slice(0, 3),
      pending: [
        { ...call, kind: 'approval' },
        { ...call, callId: 'call_0_1', kind: 'input' },
      ],
    });
    const address = path.replace(/^run/, `/runs/${run.id}`).replace('both', `a=${run.id}&b=${run.id}`);
    const tab = await page.open(address, { ...options, bypassCSP: true });
    await tab.locator(content).first().waitFor();
    if (path === '/approvals') await tab.locator('.pending').nth(1).waitFor();
    if (path === 'run?dialog') {
      await tab.getByRole('button', { name: 'Compare' }).click();
      await tab.getByRole('dialog').waitFor();
    }
    if (path === 'run') await tab.getByRole('button', { name: 'Expand everything' }).click();
    await expect.poll(() => findBarriers(tab)).toEqual([]);
  });
});

test('a service whose page has not been built says in one sentence what to do', async () => {
  const { http } = await createHttp({ name: 'unbuilt', log: createLog('unbuilt', 'silent'), checks: {} });
  await servePage(http, { folder: '/nowhere/at/all' });
  const { statusCode, body } = await http.inject('/');
  await http.close();
  expect([statusCode, body]).toEqual([
    503,
    expect.stringMatching(/^The page has not been built yet: run `npm run build`.*\n$/),
  ]);
});
