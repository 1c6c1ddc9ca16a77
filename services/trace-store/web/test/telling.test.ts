/** How the page tells what is not plain: runs that were stopped or lost, runs below a run, tables too large to show. */
import { expect, test } from 'vitest';
import type { Fact } from '@pawl/contracts';
import { runIdAt, salesRunFacts } from '../../src/testing/sales-run.ts';
import type { TraceRecord } from '../src/record/trace.ts';
import { usePage } from '../testing/browser.ts';
import type { PlayedRun } from '../testing/played-api.ts';

const page = usePage();
const now = Date.now();
const at = (minutesAgo: number) => new Date(now - minutesAgo * 60_000).toISOString();

function salesRun(seed: string, minutesAgo: number): PlayedRun {
  const id = runIdAt(at(minutesAgo), seed);
  return { id, facts: salesRunFacts({ runId: id, startedAt: at(minutesAgo) }) };
}

test.each([
  ['en', 'en-US', ['It had been allowed, but the tool has been changed since.', 'It was allowed 10 steps.']],
  ['zh', 'zh-CN', ['所以那次允许已不再有效', '它最多可以走 10 步。']],
  ['pt', 'pt-BR', ['Por isso a permissão não vale mais.', 'Podia dar 10 passos.']],
])('the explanation of a run that was stopped says so in plain words: %s', async (seed, locale, sentences) => {
  const run = salesRun(`stopped ${seed}`, 40);
  const end = run.facts.at(-1);
  if (end?.kind !== 'ended') throw new TypeError('the last fact is ended');
  const message =
    'The server has changed what this tool is since the call was asked for, so what was approved is void.';
  const facts = run.facts.slice(0, 4).map((fact): Fact => {
    if (fact.kind !== 'observed') return fact;
    const observation = { ...fact.observation, status: 'denied' as const, data: null, message };
    return { ...fact, observation: { ...observation, errorCode: 'tool_not_allowed' } };
  });
  const base = { v: 1 as const, app: 'demo', runId: run.id, at: at(40), m: 0, i: 0, callId: 'call_0_0' };
  const approval: Fact = {
    ...base,
    kind: 'approval',
    decision: 'approve',
    toolRevision: 'a'.repeat(64),
    argsHash: 'b'.repeat(64),
    by: 'user lin.wei',
  };
  const paused: Fact = { ...end, kind: 'paused', k: 0, stopReason: 'max_steps', partial: true, answer: null };
  page.api.put({ ...run, facts: [...facts, approval, { ...paused, detail: 'The limit of 10 steps was reached.' }] });
  const tab = await page.open(`/runs/${run.id}?lens=explanation`, { locale });
  for (const sentence of sentences) await tab.getByText(sentence).first().waitFor();
  await expect.poll(() => tab.locator('article').innerText()).toContain('lin.wei');
  await expect.poll(() => tab.locator('article').innerText()).not.toMatch(/server has changed|limit of 10|found|null/);
});

test('the explanation of a lost run says that nobody knows, not that it works', async () => {
  const silent = salesRun('silent explained', 600);
  page.api.put({ ...silent, facts: silent.facts.slice(0, 3) });
  const tab = await page.open(`/runs/${silent.id}?lens=explanation`);
  await tab.getByRole('heading', { name: 'What nobody knows' }).waitFor();
  await tab.getByText('It may have broken off.').first().waitFor();
  await expect.poll(() => tab.getByText('It is still working.').count()).toBe(0);
  await tab.getByRole('link', { name: 'Cards' }).click();
  await tab.getByText('Nobody knows what became of it.').waitFor();
});

test('a call that another run answers leads to that run', async () => {
  const parent = salesRun('parent', 10);
  const child = salesRun('child', 9);
  page.api.put({
    ...parent,
    facts: parent.facts.map((fact) =>
      fact.kind === 'acted' && fact.m === 0
        ? { ...fact, calls: fact.calls.map((call) => ({ ...call, admission: 'subrun' as const })) }
        : fact,
    ),
  });
  page.api.put({ ...child, run: { question: 'By month?', parent: { runId: parent.id, callId: 'call_0_0' } } });
  const tab = await page.open(`/runs/${parent.id}`);
  await tab.getByRole('link', { name: 'Open its run' }).click();
  await expect.poll(() => tab.getByRole('heading', { level: 1 }).innerText()).toBe('By month?');
});

test('large tables are told by their figures', async () => {
  const run = salesRun('figures', 50);
  const data = JSON.stringify({
    rowCount: 480,
    columns: [
      { name: 'month', distinct: 2, top: [{ value: '2026-01', count: 240 }] },
      { name: 'revenue', total: 1_558, average: 97.375, min: 58, max: 100 },
    ],
    biggestChanges: [
      {
        line: 'C',
        column: 'revenue',
        change: -42,
        percent: -42,
        from: { month: '2026-01', value: 100 },
        to: { month: '2026-02', value: 58 },
      },
    ],
    samples: [{ month: '2026-01', line: 'A', revenue: 100 }],
  });
  page.api.put({
    ...run,
    facts: run.facts.map((fact) =>
      fact.kind === 'observed' && fact.m === 0
        ? { ...fact, observation: { ...fact.observation, data, truncated: true, ref: `demo/${run.id}/0/0` } }
        : fact,
    ),
  });
  const tab = await page.open(`/runs/${run.id}`);
  await tab.getByText('480 rows, told by their figures').waitFor();
  await tab.getByText('2 different values: 2026-01 (240)').waitFor();
  // The change and the per cent of it.
  await expect.poll(() => tab.locator('.key-figures').getByRole('cell', { name: '−42' }).count()).toBe(2);
  await tab.goto(`${page.api.url}/runs/${run.id}?lens=explanation`);
  await tab.getByText('found 480 entries').waitFor();
});

test('T7: spans of another agent have their names, and say whose parent is missing and what is counted already', async () => {
  const foreign = salesRun('foreign', 15);
  const span = (slot: string, name: string, more: Partial<TraceRecord> = {}): TraceRecord => ({
    seq: 1,
    slot,
    kind: 'span',
    step: null,
    at: at(15),
    startedAt: at(15),
    durationMs: 3_000,
    status: 'ok',
    traceId: null,
    spanId: slot,
    body: { kind: 'span', name } as unknown as Fact,
    ...more,
  });
  const spans = [
    span('span.a', 'invoke_agent analyst'),
    span('span.b', 'GET /orders', { isOrphan: true, parentSpanId: 'ffff' }),
    span('span.c', 'chat m-1', { isRepeat: true }),
  ];
  const cost = { nanoUsd: '0', amount: '0.00', currency: 'USD' as const };
  page.api.put({ ...foreign, spans, run: { source: 'otlp', cost } });
  const tab = await page.open(`/runs/${foreign.id}`);
  await tab.getByText('3 other spans').click();
  await expect
    .poll(() => tab.locator('.other-spans li').allInnerTexts())
    .toEqual([
      expect.stringMatching(/^invoke_agent analyst 3\.0 s\s*$/),
      expect.stringMatching(/^GET \/orders 3\.0 s\s+Parent missing$/),
      expect.stringMatching(/^chat m-1 3\.0 s\s+Reported once more, not counted$/),
    ]);
  await expect.poll(() => tab.getByRole('button', { name: /^Fork from here/ }).count()).toBe(0);
  await expect.poll(() => tab.locator('.totals').innerText()).toMatch(/Cost\s+–/);
  await tab.getByRole('link', { name: 'Waterfall' }).click();
  await expect.poll(() => tab.locator('.span-row').count()).toBe(13);
  await expect.poll(() => tab.locator('.span-row').first().innerText()).toContain('invoke_agent analyst');
});
