/**
 * Before a model is asked: which endpoints, at what price, and is the money there? A hold is made here; it is given back or
 * charged by whoever got the admission.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { Registry } from '@pawl/bus';
import {
  inputTokensMax,
  noUsage,
  UnavailableError,
  type Candidate,
  type ModelRouteSpec,
  type Reserve,
} from '@pawl/contracts';
import type { BudgetSource } from '../budget/budget-source.ts';
import { levelsOf, refusalOf, unratedBudget, type Level, type Spender } from '../budget/levels.ts';
import type { HoldsAhead } from '../budget/holds-ahead.ts';
import { fitOutput, needsOf, type Left } from '../budget/requirement.ts';
import { closingTokensOf, keptBackFor, type ClosingCall } from '../budget/reserve.ts';
import type { RunLimits } from '../budget/run-limits.ts';
import type { Slices } from '../budget/slices.ts';
import type { BudgetStore, Holding, HoldOutcome } from '../budget/store.ts';
import type { EndpointHealth } from '../health/endpoint-health.ts';
import { ledgerEntryOf, type LedgerEntry } from '../ledger/entry.ts';
import { findPrice } from '../price/candidate-price.ts';
import type { ExchangeRates } from '../price/exchange-rates.ts';
import { costOf, worstCase, type ModelPrice, type RequestBounds } from '../price/model-price.ts';
import { resolveSecrets, type SecretSource } from '../providers/secrets.ts';
import { rankCandidates, type EndpointState, type RankedCandidate } from '../route/rank-candidates.ts';
import { imagesIn, imageTokensMax, type ModelRequest } from './model-request.ts';
import type { Denial } from './outcome.ts';

export type AdmissionDeps = {
  registry: Registry;
  rates: ExchangeRates;
  budgets: BudgetSource;
  store: BudgetStore;
  secrets: SecretSource;
  health: EndpointHealth;
  runLimits: RunLimits;
  ahead: Pick<HoldsAhead, 'take'>;
  slices: Pick<Slices, 'take' | 'note' | 'callBack' | 'beginSettling' | 'settle'>;
};

/** Where a call goes. */
export type Target = { candidate: Candidate; routeReason: string; price: ModelPrice; apiKey: string };

/** What is settled before the first endpoint is asked. */
export type Plan = {
  spec: ModelRouteSpec;
  ranked: readonly RankedCandidate[];
  levels: Level[];
  inputTokensMax: number;
  /** The call that can still close the run when this one is refused. */
  closing: ClosingCall | undefined;
};

export type Admission =
  /** The money is held for at most `bounds`. */
  | {
      outcome: 'admitted';
      target: Target;
      bounds: RequestBounds;
      /** Of a call that uses what was held ahead for it: what Postgres says of that, which may change everything. */
      confirming?: Promise<HoldOutcome>;
    }
  /** The call was settled before; what was stored then. */
  | { outcome: 'settled'; stored: string }
  /** The same call is under way. */
  | { outcome: 'in-use' }
  /** Nothing is held. */
  | { outcome: 'denied'; denial: Denial };

/** Others may take what was left between two tries. */
const holdTriesMax = 3;
/** When the request of a call that uses what was held ahead is out. */
const confirmAfterMs = 1;
/** Bytes of text for a token, as texts mostly are. */
const bytesPerToken = 4;

/** Finds the endpoints of a call. Pure but for chance, and for the clock of prices. */
export function planCall(deps: AdmissionDeps, request: ModelRequest, nowMs: number): Plan | { denial: Denial } {
  const { spender, route: routeName } = request;
  if (request.deadlineAtMs <= nowMs) {
    return deny('deadline', "The run's deadline passed before the model was asked.");
  }
  const route = deps.registry.find('ModelRoute', spender.app, routeName);
  if (!route) return deny('unknown_route', `App "${spender.app}" has no ModelRoute "${routeName}".`);
  const { spec } = route.object;
  const textTokensMax = inputTokensMax({ ...request, answerSchema: request.answerSchema ?? formatOf(request) });
  const likelyTokens = Math.ceil(textTokensMax / bytesPerToken);
  const ranking = rankCandidates({
    routeName,
    spec,
    needs: {
      model: request.model,
      dataClasses: request.dataClasses,
      hasTools: request.tools.length > 0,
      hasSchema: asksForSchema(request),
      hasImages: imagesIn(request.messages) > 0,
      inputTokens: likelyTokens,
    },
    stateOf: (candidate) => stateOf(deps, candidate, { likelyTokens, nowMs }),
    chance: Math.random,
  });
  if ('blocked' in ranking) return deny(ranking.blocked, ranking.message);
  const unrated = unratedBudget(spender, deps.budgets.budgetsOf(spender.app, nowMs));
  if (unrated !== undefined) return deny('not_supported', unrated);
  return {
    spec,
    ranked: ranking.ranked,
    ...moneyOf(deps, request, nowMs),
    inputTokensMax: textTokensMax + imageTokensMax(request.messages),
  };
}

/** The levels of a call, less what closing calls may need, and what closes the run when this call is refused. */
function moneyOf(deps: AdmissionDeps, request: ModelRequest, nowMs: number): Pick<Plan, 'levels' | 'closing'> {
  const { spender } = request;
  const pricesOf = (route: string) => pricesOfRoute(deps, { app: spender.app, route }, nowMs);
  const keptBack = (reserve: Reserve) => keptBackFor(pricesOf(reserve.route), reserve);
  const levelsFor = (runs: Spender['runs']) =>
    levelsOf({ ...spender, runs }, deps.budgets.budgetsOf(spender.app, nowMs), keptBack);
  const levels = levelsFor(spender.runs);
  const [own, ...above] = spender.runs;
  if (request.isClosing) {
    const prices = pricesOf(request.route);
    return { levels, closing: { levels, prices, outputTokensMax: request.outputTokensMin.run } };
  }
  if (!own?.reserve) return { levels, closing: undefined };
  const { route, outputTokensMax, spendLimitNanoUsd } = own.reserve;
  const last = { runId: own.runId, limitNanoUsd: BigInt(spendLimitNanoUsd) };
  return { levels, closing: { levels: levelsFor([last, ...above]), prices: pricesOf(route), outputTokensMax } };
}

/** The known prices of a route's endpoints. */
function pricesOfRoute(
  { registry, rates }: AdmissionDeps,
  of: { app: string; route: string },
  nowMs: number,
): ModelPrice[] {
  const { candidates = [] } = registry.find('ModelRoute', of.app, of.route)?.object.spec ?? {};
  return candidates.flatMap((candidate) => {
    const finding = findPrice(candidate, { atMs: nowMs, rates });
    return 'price' in finding ? [finding.price] : [];
  });
}

function formatOf({ options }: ModelRequest): object | undefined {
  const format = options['response_format'];
  return typeof format === 'object' && format !== null ? format : undefined;
}

/** A schema that the endpoint may not drop: a wish of the gateway's own is dropped where it is refused. */
function asksForSchema(request: ModelRequest): boolean {
  const format = formatOf(request);
  return format !== undefined && 'type' in format && format.type === 'json_schema';
}

function stateOf(
  { health, rates }: AdmissionDeps,
  candidate: Candidate,
  { likelyTokens, nowMs }: { likelyTokens: number; nowMs: number },
): EndpointState {
  return {
    isHealthy: health.isHealthy(candidate),
    firstTokenMs: health.firstTokenMs(candidate),
    get likelyCost() {
      const finding = findPrice(candidate, { atMs: nowMs, rates });
      const usage = { ...noUsage, inputTokens: likelyTokens, outputTokens: likelyTokens };
      return 'price' in finding ? costOf(finding.price, usage) : undefined;
    },
  };
}

export type Admitting = {
  request: ModelRequest;
  plan: Plan;
  ranked: RankedCandidate;
  traceId: string;
  /** Whether this call holds already what this hold will replace. */
  isReplacing: boolean;
};

/** Holds the worst case for one candidate. Throws `UnavailableError` when Postgres is away. */
export async function admit(deps: AdmissionDeps, admitting: Admitting, nowMs: number): Promise<Admission> {
  const target = targetOf(deps, admitting, nowMs);
  return 'denial' in target
    ? { outcome: 'denied', denial: target.denial }
    : await holdWhatFits(deps, admitting, target);
}

function targetOf(deps: AdmissionDeps, { request, ranked }: Admitting, nowMs: number): Target | { denial: Denial } {
  const { candidate, reason } = ranked;
  const isInputOnly = request.operation === 'embeddings';
  const finding = findPrice(candidate, { atMs: nowMs, rates: deps.rates, isInputOnly });
  if ('problem' in finding) return { denial: finding.problem };
  const secret = resolveSecrets(candidate.apiKey ?? '', (name) => deps.secrets(request.spender.app, name));
  if ('missing' in secret) {
    const missing = secret.missing.join(', ');
    return deny('secret_missing', `ModelRoute "${request.route}" needs the secret ${missing}, which is not set.`);
  }
  return { candidate, routeReason: reason, price: finding.price, apiKey: secret.text };
}

/** Holds the worst case; where that is too much, with fewer output tokens, as long as it is worth a call. */
async function holdWhatFits(deps: AdmissionDeps, admitting: Admitting, target: Target): Promise<Admission> {
  const { request, plan } = admitting;
  const { levels } = plan;
  const wanted = {
    inputTokensMax: plan.inputTokensMax,
    outputTokensMax: request.outputTokensMax,
    outputTokensMin: request.outputTokensMin,
  };
  let bounds: RequestBounds = wanted;
  let isCalledBack = false;
  let isLapsed = false;
  for (let tries = 1; ; tries += 1) {
    const needs = needsOf(levels, target.price, bounds);
    const wish = { target, bounds, needs };
    const confirming = confirmAhead(deps, admitting, wish);
    if (confirming) return { outcome: 'admitted', target, bounds, confirming };
    const held = await holdOnce(deps, admitting, wish);
    switch (held.outcome) {
      case 'held':
        return { outcome: 'admitted', target, bounds };
      case 'settled':
        return { outcome: 'settled', stored: held.thought };
      case 'in-use':
        return held;
      case 'refused':
    }
    // What a dead gateway asked for this very call counts until its time is over; then there is room for it.
    if (held.isShared && !request.isExclusive) throw new UnavailableError('the same call is held for elsewhere');
    const short = levels.filter((_level, position) => (needs[position] ?? 0n) > (held.lefts[position] ?? 0n));
    if (!isCalledBack && (await deps.slices.callBack(short, held.others))) {
      isCalledBack = true;
      continue;
    }
    const lefts = leftsOf(levels, held.lefts);
    const fit = fitOutput(lefts, target.price, wanted);
    const later = held.lefts.map((left, position) => left + (held.ahead.amounts[position] ?? 0n));
    const fitLater = fitOutput(leftsOf(levels, later), target.price, wanted);
    if (!isLapsed && 'blockedBy' in fit && !('blockedBy' in fitLater)) {
      await pause(Math.min(held.ahead.lapsesInMs, Math.max(0, request.deadlineAtMs - Date.now())));
      await deps.store.sweepHolds();
      isLapsed = true;
      continue;
    }
    if ('blockedBy' in fit || tries >= holdTriesMax) {
      const refusal = 'blockedBy' in fit ? fit : { blockedBy: held.refusedBy, outputTokensMin: bounds.outputTokensMax };
      const denial = denialOfLevel(lefts, target.price, { ...wanted, ...refusal });
      return { outcome: 'denied', denial: withClosing(denial, plan.closing, lefts) };
    }
    bounds = { inputTokensMax: wanted.inputTokensMax, outputTokensMax: fit.outputTokensMax };
  }
}

function leftsOf(levels: readonly Level[], lefts: readonly bigint[]): Left[] {
  return levels.map((level, position) => ({ level, left: lefts[position] ?? 0n }));
}

type Wish = { target: Target; bounds: RequestBounds; needs: readonly bigint[] };

/** Where the money was held ahead: what Postgres says of holding it for the call itself. It is asked once the call is on its way. */
function confirmAhead(deps: AdmissionDeps, admitting: Admitting, wish: Wish): Promise<HoldOutcome> | undefined {
  const { request, plan } = admitting;
  const holding = { levels: plan.levels, needs: wish.needs };
  if (!request.isFresh || !deps.ahead.take(request.address, holding)) return undefined;
  return pause(confirmAfterMs).then(() => deps.store.hold(request.address, holdingOf(admitting, wish)));
}

/** One try: out of this replica's slices where nothing has to be looked up for the call, else in Postgres. */
async function holdOnce({ store, slices }: AdmissionDeps, admitting: Admitting, wish: Wish): Promise<HoldOutcome> {
  const { address, isAskedOnce } = admitting.request;
  const { levels } = admitting.plan;
  const { needs } = wish;
  const line = () => lostLineOf(admitting, wish);
  if (isAskedOnce && slices.take(address, { levels, needs, line })) return { outcome: 'held' };
  const held = await store.hold(address, holdingOf(admitting, wish));
  if (held.outcome === 'held' && isAskedOnce) slices.note(levels, needs);
  return held;
}

function holdingOf(admitting: Admitting, wish: Wish): Holding {
  const { request, plan, isReplacing } = admitting;
  const line = lostLineOf(admitting, wish);
  return { levels: plan.levels, needs: wish.needs, line, isExclusive: request.isExclusive, isReplacing };
}

function lostLineOf({ request, plan, traceId }: Admitting, { target, bounds }: Wish): LedgerEntry {
  const line = ledgerEntryOf({
    callId: randomUUID(),
    request,
    endpoint: target.candidate,
    price: target.price,
    rates: plan.levels.map(({ rate }) => rate),
    usage: noUsage,
    costNanoUsd: 0n,
    basis: 'estimated',
    stopKind: 'lost',
    attempts: 1,
    traceId,
    at: new Date().toISOString(),
    isFinal: false,
  });
  return { ...line, held_nano_usd: worstCase(target.price, bounds).toString() };
}

function denialOfLevel(
  lefts: readonly Left[],
  price: ModelPrice,
  refusal: { blockedBy: number; outputTokensMin: number; inputTokensMax: number },
): Denial {
  const { level, left } = lefts[refusal.blockedBy] as Left;
  const least = { inputTokensMax: refusal.inputTokensMax, outputTokensMax: refusal.outputTokensMin };
  const [needed = 0n] = needsOf([level], price, least);
  const message = refusalOf(level, left, needed);
  if (!level.isRate || needed > level.limit) return { code: 'budget_exceeded', message };
  const retryAfterMs = level.window.toMs === null ? 1_000 : Math.max(1_000, level.window.toMs - Date.now());
  return { code: 'rate_limited', message, retryAfterMs };
}

/** A refusal for money says how long the call may be that closes the run. */
function withClosing(denial: Denial, closing: ClosingCall | undefined, lefts: readonly Left[]): Denial {
  if (denial.code !== 'budget_exceeded' || !closing) return denial;
  return { ...denial, closingTokens: closingTokensOf(closing, lefts) };
}

function deny(code: Denial['code'], message: string): { denial: Denial } {
  return { denial: { code, message } };
}
