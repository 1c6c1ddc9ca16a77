/**
 * Before a model is asked: which endpoint, at what price, and is the money there? The hold is made here; it is given back or
 * charged by whoever got the admission.
 */
import type { Registry } from '@pawl/bus';
import type { Candidate, ErrorCode, ModelRouteSpec, ThinkWork } from '@pawl/contracts';
import type { BudgetSource } from '../budget/budget-source.ts';
import { levelsOf, refusalOf, type Level } from '../budget/levels.ts';
import { fitOutput, needsOf, type Left } from '../budget/requirement.ts';
import type { BudgetStore } from '../budget/store.ts';
import { findPrice } from '../price/candidate-price.ts';
import { inputTokensMax } from '../price/input-bound.ts';
import type { ModelPrice, RequestBounds } from '../price/model-price.ts';
import { answerSchemaOf } from '../providers/answer-format.ts';
import { resolveSecrets, type SecretSource } from '../providers/secrets.ts';
import { chooseCandidate } from '../route/choose-candidate.ts';

export type AdmissionDeps = { registry: Registry; budgets: BudgetSource; store: BudgetStore; secrets: SecretSource };

/** Where a call goes. */
export type Target = {
  candidate: Candidate;
  routeReason: string;
  spec: ModelRouteSpec;
  price: ModelPrice;
  apiKey: string;
};

export type Denial = { code: ErrorCode; message: string };

export type Admission =
  /** The money is held for at most `bounds`. */
  | { outcome: 'admitted'; target: Target; levels: Level[]; bounds: RequestBounds }
  /** The call was settled before; its fact as JSON text. */
  | { outcome: 'settled'; thought: string }
  /** Nothing is held and nothing was spent. */
  | { outcome: 'denied'; denial: Denial };

/** Others may take what was left between two tries. */
const holdTriesMax = 3;

/** Admits a piece of think work at a time. Throws `UnavailableError` when Postgres is away. */
export async function admit(deps: AdmissionDeps, work: ThinkWork, nowMs: number): Promise<Admission> {
  const target = findTarget(deps, work, nowMs);
  if ('denial' in target) return await denyUnlessSettled(deps, work, target.denial);
  const spender = {
    app: work.app,
    agent: work.agent,
    userId: work.user?.id,
    runs: runsOf(work),
  };
  const levels = levelsOf(spender, deps.budgets.budgetsOf(work.app, nowMs));
  return await holdWhatFits(deps.store, { work, target, levels });
}

function findTarget(deps: AdmissionDeps, work: ThinkWork, nowMs: number): Target | { denial: Denial } {
  if (Date.parse(work.deadlineAt) <= nowMs) {
    return deny('deadline', "The run's deadline passed before the model was asked.");
  }
  const route = deps.registry.find('ModelRoute', work.app, work.route);
  if (!route) return deny('unknown_route', `App "${work.app}" has no ModelRoute "${work.route}".`);
  const { spec } = route.object;
  const { candidate, reason } = chooseCandidate(work.route, spec);
  const finding = findPrice(candidate, new Date(nowMs));
  if ('problem' in finding) return { denial: finding.problem };
  const secret = resolveSecrets(candidate.apiKey ?? '', deps.secrets);
  if ('missing' in secret) {
    return deny(
      'secret_missing',
      `ModelRoute "${work.route}" needs the secret ${secret.missing.join(', ')}, which is not set.`,
    );
  }
  return { candidate, routeReason: reason, spec, price: finding.price, apiKey: secret.text };
}

type Wanted = { work: ThinkWork; target: Target; levels: Level[] };

/** Holds the worst case; where that is too much, with fewer output tokens, as long as it is worth a call. */
async function holdWhatFits(store: BudgetStore, { work, target, levels }: Wanted): Promise<Admission> {
  const wanted = {
    inputTokensMax: inputTokensMax({ ...work, answerSchema: answerSchemaOf(work) }),
    outputTokensMax: work.maxOutputTokens,
  };
  let bounds = wanted;
  for (let tries = 1; ; tries += 1) {
    const held = await store.hold(work, levels, needsOf(levels, target.price, bounds));
    if (held.outcome === 'held') return { outcome: 'admitted', target, levels, bounds };
    if (held.outcome === 'settled') return held;
    const lefts = levels.map((level, position): Left => ({ level, left: held.lefts[position] ?? 0n }));
    const fit = fitOutput(lefts, target.price, wanted);
    if ('blockedBy' in fit || tries === holdTriesMax) {
      const refusal = 'blockedBy' in fit ? fit : { blockedBy: held.refusedBy, outputTokensMin: bounds.outputTokensMax };
      return {
        outcome: 'denied',
        denial: { code: 'budget_exceeded', message: explain(lefts, target.price, { ...wanted, ...refusal }) },
      };
    }
    bounds = { ...wanted, outputTokensMax: fit.outputTokensMax };
  }
}

function explain(
  lefts: readonly Left[],
  price: ModelPrice,
  refusal: { blockedBy: number; outputTokensMin: number; inputTokensMax: number },
): string {
  const { level, left } = lefts[refusal.blockedBy] as Left;
  const least = { inputTokensMax: refusal.inputTokensMax, outputTokensMax: refusal.outputTokensMin };
  const [needed = 0n] = needsOf([level], price, least);
  return refusalOf(level, left, needed);
}

/** What was answered once stays answered, also when the route is gone by now. */
async function denyUnlessSettled(deps: AdmissionDeps, work: ThinkWork, denial: Denial): Promise<Admission> {
  const stored = await deps.store.hold(work, [], []);
  return stored.outcome === 'settled' ? stored : { outcome: 'denied', denial };
}

/** A run that was named twice among its ancestors counts once, with the lower limit. */
function runsOf(work: ThinkWork): { runId: string; limitNanoUsd: bigint }[] {
  const own = { runId: work.runId, spendLimitNanoUsd: work.runSpendLimitNanoUsd };
  const limits = new Map<string, bigint>();
  for (const { runId, spendLimitNanoUsd } of [own, ...(work.ancestors ?? [])]) {
    const limit = BigInt(spendLimitNanoUsd);
    const known = limits.get(runId);
    limits.set(runId, known === undefined || limit < known ? limit : known);
  }
  return [...limits].map(([runId, limitNanoUsd]) => ({ runId, limitNanoUsd }));
}

function deny(code: ErrorCode, message: string): { denial: Denial } {
  return { denial: { code, message } };
}
