/** The sales question in five rounds, as the services would write it: facts for tests and for looking at the page. */
import { createHash } from 'node:crypto';
import type { ActedCall, Fact, Observation, Thought } from '@pawl/contracts';

export type SalesRunOptions = {
  app?: string;
  runId: string;
  /** When it started, ISO time. */
  startedAt: string;
  traceId?: string;
};

type Call = { tool: string; args: Record<string, unknown>; durationMs: number; result: Partial<Observation> };
type Round = { thought: string; calls: Call[]; input: number; output: number; costNanoUsd: string; durationMs: number };

/** All facts of the run, in the order in which they are written. */
export function salesRunFacts(options: SalesRunOptions): Fact[] {
  const clock = createClock(options.startedAt);
  const base = { v: 1 as const, app: options.app ?? 'demo', runId: options.runId };
  const facts: Fact[] = [started(base, options)];
  for (const [m, round] of rounds.entries()) {
    facts.push(thought({ ...base, at: clock.after(round.durationMs) }, m, round));
    if (round.calls.length === 0) continue;
    const calls = round.calls.map((call, i) => actedCall(m, i, call));
    facts.push({ ...base, at: clock.after(1), kind: 'acted', m, step: m + 1, calls });
    const startedAt = clock.after(2);
    const longestMs = Math.max(...round.calls.map(({ durationMs }) => durationMs));
    const at = clock.after(longestMs);
    for (const [i, call] of round.calls.entries()) {
      const { callId, tool } = calls[i] as ActedCall;
      facts.push({
        ...base,
        at,
        kind: 'observed',
        m,
        i,
        callId,
        tool,
        trust: 'trusted',
        observation: { ...okObservation, ...call.result },
        ...(call.result.status === 'error' ? { rawError: 'error: column "reson" does not exist (42703)' } : {}),
        attempt: 1,
        startedAt,
        durationMs: call.durationMs,
      });
    }
  }
  facts.push({
    ...base,
    at: clock.after(1),
    kind: 'ended',
    stopReason: 'final_answer',
    answer: answerText,
    partial: false,
    detail: 'The model gave its final answer.',
    steps: rounds.length,
    toolCalls: sum(({ calls }) => calls.length),
    tokens: sum(({ input, output }) => input + output),
    costNanoUsd: rounds.reduce((total, { costNanoUsd }) => total + BigInt(costNanoUsd), 0n).toString(),
    durationMs: clock.elapsedMs(),
  });
  return facts;
}

/** A run id whose time (UUID version 7) is `at`, different for each seed. */
export function runIdAt(at: string, seed: string): string {
  const time = Date.parse(at).toString(16).padStart(12, '0');
  return `run_${time}7${createHash('sha256').update(seed).digest('hex').slice(0, 19)}`;
}

function createClock(startedAt: string) {
  const startMs = Date.parse(startedAt);
  let nowMs = startMs;
  return {
    after(delayMs: number) {
      nowMs += delayMs;
      return new Date(nowMs).toISOString();
    },
    elapsedMs: () => nowMs - startMs,
  };
}

function sum(valueOf: (round: Round) => number): number {
  return rounds.reduce((total, round) => total + valueOf(round), 0);
}

type Base = { v: 1; app: string; runId: string };

function started(base: Base, options: SalesRunOptions): Fact {
  return {
    ...base,
    at: options.startedAt,
    kind: 'started',
    agent: { name: 'sales-analyst', revision: hash('sales-analyst') },
    definition: hash('definition'),
    input: 'Why did sales revenue suddenly drop in February?',
    user: { id: 'lin.wei', roles: ['analyst'] },
    lane: 'interactive',
    limits: { steps: 10, toolCalls: 20, wallClockMs: 120_000, tokens: 50_000, spendNanoUsd: '400000000' },
    deadlineAt: new Date(Date.parse(options.startedAt) + 120_000).toISOString(),
    traceId: options.traceId ?? hash(options.runId).slice(0, 32),
  };
}

function thought(base: Base & { at: string }, m: number, round: Round): Thought {
  return {
    ...base,
    kind: 'thought',
    m,
    purpose: 'think',
    outcome: 'reply',
    text: round.thought,
    calls: round.calls.map(({ tool, args }, i) => ({ id: `toolu_${m}_${i}`, tool, args: JSON.stringify(args) })),
    finishReason: round.calls.length > 0 ? 'tool_calls' : 'stop',
    route: { provider: 'sim', model: 'sim-smart', region: 'local', routeReason: 'the only endpoint of route smart' },
    usage: {
      inputTokens: round.input,
      cachedInputTokens: 0,
      cacheWriteTokens: 0,
      outputTokens: round.output,
      reasoningTokens: 0,
    },
    costNanoUsd: round.costNanoUsd,
    costBasis: 'measured',
    startedAt: new Date(Date.parse(base.at) - round.durationMs).toISOString(),
    durationMs: round.durationMs,
    firstTokenMs: 21,
  };
}

function actedCall(m: number, i: number, call: Call): ActedCall {
  const args = JSON.stringify(call.args);
  return {
    i,
    callId: `call_${m}_${i}`,
    tool: call.tool,
    toolRevision: hash(call.tool),
    args,
    argsHash: hash(args),
    admission: 'run',
  };
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** A table in the shape that SQL tools give. */
function table(columns: string[], ...rows: unknown[][]): Partial<Observation> {
  const objects = rows.map((row) => Object.fromEntries(columns.map((column, at) => [column, row[at]])));
  return { data: JSON.stringify({ rowCount: rows.length, columns, rows: objects }) };
}

const okObservation: Observation = {
  status: 'ok',
  data: null,
  errorCode: null,
  message: null,
  suggestion: null,
  truncated: false,
  ref: null,
};

const breakdown = ['key', 'month_a', 'month_b', 'change', 'change_pct'];
const months = { month_a: '2026-01', month_b: '2026-02' };

const answerText = `Completed sales revenue fell in February 2026: 16.4 M CNY, −18 % against January 2026 (20 M) and −12 % against February 2025 (18.6 M).
The drop sits in product line C: −42 %, from 8.5 M to 4.9 M. The other lines are about flat (A −0.2 %, B +0.4 %, D +0.1 %).
Behind it is one customer: Customer A in South China, from 3.5 M to 0.5 M. That is 3 M less, about 83 % of the whole drop.
The cause: the order of Customer A of 15 February 2026 over 3 M (number 48213) was cancelled on 17 February 2026. Reason given: "delivery date could not be met".`;

const rounds: Round[] = [
  {
    thought:
      'Known: the question, nothing about the figures yet.\nMissing: how revenue moved, against the month before and the same month of the year before.\nNext: read revenue by month.',
    input: 912,
    output: 64,
    costNanoUsd: '1168000',
    durationMs: 412,
    calls: [
      {
        tool: 'query_metric',
        args: { metric: 'revenue', from: '2025-02', to: '2026-02' },
        durationMs: 38,
        result: table(
          ['month', 'value'],
          ['2025-02', 18_636_000],
          ['2025-11', 19_210_450],
          ['2025-12', 19_874_200],
          ['2026-01', 20_000_000],
          ['2026-02', 16_400_000],
        ),
      },
    ],
  },
  {
    thought:
      'Known: revenue in February 2026 was 16.4 M, −18 % against January and −12 % against February 2025.\nMissing: where the drop of 3.6 M comes from.\nNext: break it down by product line, region and customer, all at once.',
    input: 1_204,
    output: 141,
    costNanoUsd: '1768000',
    durationMs: 655,
    calls: [
      {
        tool: 'aggregate_metric',
        args: { dimension: 'product_line', ...months },
        durationMs: 44,
        result: table(
          breakdown,
          ['C', 8_500_000, 4_930_000, -3_570_000, -42],
          ['A', 6_010_000, 5_998_000, -12_000, -0.2],
          ['B', 3_490_000, 3_470_000, -20_000, -0.6],
          ['D', 2_000_000, 2_002_000, 2_000, 0.1],
        ),
      },
      {
        tool: 'aggregate_metric',
        args: { dimension: 'region', ...months },
        durationMs: 51,
        result: table(
          breakdown,
          ['South China', 7_900_000, 4_700_000, -3_200_000, -40.5],
          ['East China', 6_100_000, 5_900_000, -200_000, -3.3],
          ['North China', 3_800_000, 3_650_000, -150_000, -3.9],
          ['West China', 2_200_000, 2_150_000, -50_000, -2.3],
        ),
      },
      {
        tool: 'aggregate_metric',
        args: { dimension: 'customer', ...months, limit: 3 },
        durationMs: 47,
        result: table(
          breakdown,
          ['Customer A', 3_500_000, 500_000, -3_000_000, -85.7],
          ['Customer K', 1_120_000, 1_041_500, -78_500, -7],
          ['Customer F', 904_300, 951_200, 46_900, 5.2],
        ),
      },
    ],
  },
  {
    thought:
      'Known: product line C changed by −42 %, South China by −40.5 %, Customer A lost 3 M over all lines.\nMissing: why.\nNext: read the cancelled orders with SQL.',
    input: 1_988,
    output: 96,
    costNanoUsd: '2372000',
    durationMs: 518,
    calls: [
      {
        tool: 'execute_sql',
        args: {
          query:
            "select o.id, o.ordered_on, o.amount, c.reson\nfrom sales.orders o join sales.order_cancellations c on c.order_id = o.id\nwhere o.customer = 'Customer A' and o.status = 'cancelled'",
        },
        durationMs: 12,
        result: {
          status: 'error',
          errorCode: 'tool_failed',
          message: 'The query names a column that does not exist: "reson".',
          suggestion: 'Check the spelling; a column with a similar name is "reason". Or use query_dataset.',
        },
      },
    ],
  },
  {
    thought:
      'Known: the query named a column that does not exist.\nMissing: the cancelled orders of Customer A.\nNext: change the approach and use query_dataset.',
    input: 2_214,
    output: 71,
    costNanoUsd: '2498000',
    durationMs: 388,
    calls: [
      {
        tool: 'query_dataset',
        args: { month: '2026-02', customer: 'Customer A', status: 'cancelled', limit: 5 },
        durationMs: 29,
        result: table(
          ['order_id', 'ordered_on', 'customer', 'status', 'amount', 'cancelled_on', 'reason'],
          [48_213, '2026-02-15', 'Customer A', 'cancelled', 3_000_000, '2026-02-17', 'delivery date could not be met'],
        ),
      },
    ],
  },
  { thought: answerText, calls: [], input: 2_503, output: 188, costNanoUsd: '3255000', durationMs: 1_104 },
];
