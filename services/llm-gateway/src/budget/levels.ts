/**
 * The levels that a call has to fit into: every budget of its org and app that applies, then its run and the runs above it. Pure.
 *
 * Invariant: levels come in the order of their keys, so that all transactions lock in one order. Budgets come before runs.
 */
import {
  formatNano,
  orgApp,
  parseNano,
  RejectedError,
  type Budget,
  type BudgetSpec,
  type Reserve,
} from '@pawl/contracts';
import { fromUsd, type Rate } from '../price/exchange-rates.ts';
import type { Window } from './window.ts';

/** What a level counts: money (nano-USD, or nano units of the currency of its `rate`), tokens, calls, or calls under way at once. */
export type Unit = 'nano-usd' | 'tokens' | 'calls' | 'concurrent';

export type Level = {
  kind: 'budget' | 'run';
  /** The counter's key. */
  key: string;
  /** How refusals name it. */
  title: string;
  unit: Unit;
  /** For money in another currency than USD: what it was worth when the call was admitted. */
  rate?: Rate | undefined;
  limit: bigint;
  /** What is kept back beyond the limit for closing calls. */
  keptBack: bigint;
  window: Window;
  /** Whether what it refuses is only too fast, and may be asked again when others are through or the window is over. */
  isRate: boolean;
};

/** Who is about to spend. */
export type Spender = {
  app: string;
  /** Absent for calls that no agent makes. */
  agent?: string | undefined;
  userId?: string | undefined;
  /** The key of a call over HTTP, or of who started the run. */
  keyId?: string | undefined;
  /** The run of the call and the runs above it, each with what it may spend in all, and what closes it. */
  runs: readonly SpendingRun[];
};

export type SpendingRun = { runId: string; limitNanoUsd: bigint; reserve?: Reserve | undefined };

/** What closing calls may need at the worst. */
export type KeptBack = { 'nano-usd': bigint; tokens: bigint };

const nothingKept: KeptBack = { 'nano-usd': 0n, tokens: 0n };

/** A budget with the window of it that counts now, and today's rate of its currency where that is not USD. */
export type DatedBudget = { budget: Budget; window: Window; rate?: Rate | undefined };

/** Levels of a call, in locking order. What closes a run is kept back on its own level, on those above it and on budgets. */
export function levelsOf(
  spender: Spender,
  budgets: readonly DatedBudget[],
  keptBackFor: (reserve: Reserve) => KeptBack = () => nothingKept,
): Level[] {
  let kept = nothingKept;
  const ofRuns = spender.runs.map((run, distance): Level => {
    kept = run.reserve ? sumOf(kept, keptBackFor(run.reserve)) : kept;
    return levelOfRun(run, distance, kept);
  });
  const ofBudgets = budgets
    .filter(({ budget }) => appliesTo(budget.spec, spender))
    .map((dated) => keepBack(levelOf(dated), kept));
  return [...ofBudgets, ...ofRuns].toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

/** Why nobody can tell what is left of a budget that the call counts on: its currency has no rate now. */
export function unratedBudget(spender: Spender, budgets: readonly DatedBudget[]): string | undefined {
  const unrated = budgets.find((dated) => !isRated(dated) && appliesTo(dated.budget.spec, spender));
  return unrated && unratedText(unrated.budget);
}

function isRated({ budget: { spec }, rate }: DatedBudget): boolean {
  return !('currency' in spec.limit) || spec.limit.currency === (rate?.currency ?? 'USD');
}

function unratedText({ metadata: { name }, spec: { limit } }: Budget): string {
  const currency = 'currency' in limit ? limit.currency : 'USD';
  return `Budget "${name}" is in ${currency}, for which there is no exchange rate; PAWL_EXCHANGE_RATES can tell it.`;
}

function levelOfRun({ runId, limitNanoUsd, reserve }: SpendingRun, distance: number, kept: KeptBack): Level {
  const whole = reserve ? BigInt(reserve.spendLimitNanoUsd) : limitNanoUsd;
  const rest = whole - kept['nano-usd'];
  const limit = rest < limitNanoUsd ? rest : limitNanoUsd;
  return {
    kind: 'run',
    key: keyOfRun(runId),
    title: distance === 0 ? 'the spend limit of the run' : `the spend limit of the run above it, ${runId},`,
    unit: 'nano-usd',
    limit,
    keptBack: whole - limit,
    window: { fromMs: 0, toMs: null },
    isRate: false,
  };
}

/** What is only too fast comes back by itself, so nothing has to be kept of it. */
function keepBack(level: Level, kept: KeptBack): Level {
  const isCounted = level.unit === 'nano-usd' || level.unit === 'tokens';
  const wanted = level.unit === 'tokens' ? kept.tokens : fromUsd(kept['nano-usd'], level.rate);
  const keptBack = isCounted && !level.isRate ? wanted : 0n;
  return { ...level, limit: level.limit - keptBack, keptBack };
}

function sumOf(a: KeptBack, b: KeptBack): KeptBack {
  return { 'nano-usd': a['nano-usd'] + b['nano-usd'], tokens: a.tokens + b.tokens };
}

/** The key of a run's level. */
export function keyOfRun(runId: string): string {
  return `run/${runId}`;
}

/** The level of one budget. Throws `RejectedError` not_supported where its currency has no rate. */
export function levelOf(dated: DatedBudget): Level {
  if (!isRated(dated)) throw new RejectedError('not_supported', unratedText(dated.budget));
  const { budget, window, rate } = dated;
  const { scope } = budget.spec;
  const { unit, limit } = limitOf(budget.spec);
  const counted = rate ? `nano-${rate.currency.toLowerCase()}` : unit;
  const whose = [scope.agent ?? '*', scope.user ?? '*', ...(scope.key === undefined ? [] : [scope.key])];
  return {
    kind: 'budget',
    key: ['budget', scope.app ?? orgApp, budget.metadata.name, ...whose, counted].join('/'),
    title: `budget "${budget.metadata.name}" of ${scope.org === undefined ? `app "${scope.app}"` : `org "${scope.org}"`}`,
    unit,
    ...(rate ? { rate } : {}),
    limit,
    keptBack: 0n,
    window,
    isRate: unit === 'concurrent' || budget.spec.window === 'minute',
  };
}

/** One sentence on why a level refused a call. `left` and `needed` in the level's unit. */
export function refusalOf(level: Level, left: bigint, needed: bigint): string {
  const title = level.title[0]?.toUpperCase() + level.title.slice(1);
  const rest = left < 0n ? 0n : left;
  const beside = level.keptBack > 0n ? ` beside ${amountText(level, level.keptBack)} for its closing answer` : '';
  return `${title} has ${amountText(level, rest)} left${beside}; this call may need ${amountText(level, needed)}.`;
}

function appliesTo(spec: BudgetSpec, spender: Spender): boolean {
  const { app, org, apps, agent, user, key } = spec.scope;
  return (
    (org === undefined ? app === spender.app : apps?.includes(spender.app) !== false) &&
    (agent === undefined || agent === spender.agent) &&
    (user === undefined || user === spender.userId) &&
    (key === undefined || key === spender.keyId)
  );
}

function limitOf({ limit }: BudgetSpec): { unit: Unit; limit: bigint } {
  if ('tokens' in limit) return { unit: 'tokens', limit: BigInt(limit.tokens) };
  if ('concurrent' in limit) return { unit: 'concurrent', limit: BigInt(limit.concurrent) };
  if ('calls' in limit) return { unit: 'calls', limit: BigInt(limit.calls) };
  return { unit: 'nano-usd', limit: parseNano(limit.amount) };
}

function amountText({ unit, rate }: Level, amount: bigint): string {
  if (unit === 'concurrent') return `${amount} calls at once`;
  return unit === 'nano-usd' ? `${formatNano(amount)} ${rate?.currency ?? 'USD'}` : `${amount} ${unit}`;
}
