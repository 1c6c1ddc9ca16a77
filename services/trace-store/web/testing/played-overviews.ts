/** What the overviews of the page ask for, played: budgets and spending, queues, figures of the last hours. */
import { viewNanoUsd } from '@pawl/contracts';
import type { Http } from '@pawl/service';

/** Budgets, spending, queues and figures as they are looked at. */
export function playOverviews(http: Http): void {
  const spec = { scope: { app: 'demo' }, limit: { amount: '20.00', currency: 'USD' }, window: 'day' };
  const tokens = { scope: { app: 'demo', agent: 'sales-analyst' }, limit: { tokens: 1_000_000 }, window: 'month' };
  const reais = { scope: { app: 'demo', user: 'ana' }, limit: { amount: '100.00', currency: 'BRL' }, window: 'total' };
  const atOnce = { scope: { app: 'demo', key: 'key_1' }, limit: { concurrent: 8 }, window: 'minute' };
  http.get('/v1/budgets', async () => ({
    items: [
      { metadata: { app: 'demo', name: 'daily' }, spec },
      { metadata: { app: 'demo', name: 'analyst-tokens' }, spec: tokens },
      { metadata: { app: 'demo', name: 'reais' }, spec: reais },
      { metadata: { app: 'demo', name: 'at-once' }, spec: atOnce },
    ],
  }));
  http.get<{ Params: { name: string } }>('/v1/budgets/:name/state', async (request) => {
    if (request.params.name === 'analyst-tokens') {
      const window = windowOf(28 * 24 * hourMs);
      return { limit: { tokens: 1_000_000 }, held: { tokens: 12_000 }, spent: { tokens: 214_380 }, window };
    }
    if (request.params.name === 'reais') {
      const money = (amount: string, nanoUsd: string) => ({ nanoUsd, amount, currency: 'BRL' });
      const figures = { held: money('0.00', '0'), spent: money('12.50', '2500000000') };
      return { limit: money('100.00', '20000000000'), ...figures, window: { from: null, to: null } };
    }
    if (request.params.name === 'at-once') {
      const window = windowOf(hourMs);
      return { limit: { concurrent: 8 }, held: { concurrent: 3 }, spent: { concurrent: 0 }, window };
    }
    const window = windowOf(24 * hourMs);
    const money = (nano: bigint) => viewNanoUsd(nano);
    return { limit: money(20_000_000_000n), held: money(1_250_000_000n), spent: money(14_637_200_000n), window };
  });
  http.get<{ Querystring: { by?: string; from?: string } }>('/v1/spend', async ({ query: { by = 'day', from } }) => ({
    items: from === undefined ? days : spentSince(by, from),
  }));
  const days = Array.from({ length: 14 }, (_, at) => ({
    day: `2026-11-${String(at + 16).padStart(2, '0')}`,
    cost: viewNanoUsd(BigInt(Math.round(4e9 + 3e9 * Math.sin(at) + at * 6e8))),
  }));
  http.get('/v1/traces/queues', async () => ({
    queues: [
      { work: 'think', queue: 'interactive', waiting: 2, underWay: 4, oldestWaitingMs: 400, asking: 1 },
      { work: 'think', queue: 'batch', waiting: 12_400, underWay: 8, oldestWaitingMs: 95_000, asking: 0 },
      { work: 'act', queue: 'default', waiting: 0, underWay: 0, oldestWaitingMs: 0, asking: 3 },
      { work: 'act', queue: 'browser', waiting: 7, underWay: 0, oldestWaitingMs: 61_000, asking: 0 },
    ],
    log: { factsBehind: 0 },
  }));
  http.get('/v1/tools', async () => ({ items: [] }));
  http.get('/v1/traces/aggregates', async () => dayFigures());
}

const hourMs = 3_600_000;

/** A window of which half is over. */
function windowOf(lengthMs: number) {
  const at = (ms: number) => new Date(Math.floor((Date.now() + ms) / hourMs) * hourMs).toISOString();
  return { from: at(-lengthMs / 2), to: at(lengthMs / 2) };
}

/** What was spent since then: of money most of it early, of tokens little by little. */
function spentSince(by: string, from: string) {
  const agent = by.includes('agent') ? { agent: 'sales-analyst' } : {};
  const stepMs = by.includes('hour') ? hourMs : 24 * hourMs;
  return Array.from({ length: 12 }, (_, at) => ({
    [by.includes('hour') ? 'hour' : 'day']: new Date(Date.parse(from) + at * stepMs)
      .toISOString()
      .slice(0, by.includes('hour') ? undefined : 10),
    ...agent,
    calls: 10,
    inputTokens: 16_000,
    outputTokens: 1_865,
    cost: viewNanoUsd(BigInt(at === 2 ? 6_637_200_000 : 727_000_000)),
  }));
}

/** Three hours of runs, the last of which went badly. */
function dayFigures() {
  const at = (hoursAgo: number) => new Date((Math.floor(Date.now() / hourMs) - hoursAgo) * hourMs).toISOString();
  const durationMs = { p50: 900, p95: 4_200 };
  const hour = (hoursAgo: number, runs: number, stopReasons: Record<string, number>) => {
    const cost = viewNanoUsd(BigInt(runs) * 11_061_000n);
    return { at: at(hoursAgo), runs, ended: runs, tokens: 900 * runs, cost, durationMs, stopReasons };
  };
  const tool = (name: string, calls: number, failures: number) => {
    const failureRate = failures / calls;
    return { at: at(1), tool: name, calls, failures, denied: 0, failureRate, durationMs };
  };
  const latest = [hour(2, 55, { final_answer: 54, max_steps: 1 }), hour(1, 20, { internal_error: 9 })];
  return {
    from: at(24),
    to: new Date().toISOString(),
    bucket: 'hour',
    items: [hour(7, 40, { final_answer: 40 }), ...latest],
    tools: [tool('query_metric', 120, 0), tool('execute_sql', 24, 6)],
  };
}
