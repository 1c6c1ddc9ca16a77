/**
 * A model call from admission to the bill: holds, asks, goes on to other endpoints where that is allowed.
 *
 * Invariants:
 * 1. No endpoint is asked without a hold that covers whatever the call may cost there (I13).
 * 2. Once a word of a reply is out, no other endpoint is asked.
 * 3. Attempts are bounded over retries and fallbacks together, within one deadline.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { UnavailableError } from '@pawl/contracts';
import type { Log } from '@pawl/service';
import { keyOfRun, type Level } from '../budget/levels.ts';
import { takenOf } from '../budget/requirement.ts';
import type { HoldOutcome } from '../budget/store.ts';
import { ledgerEntryOf, type LedgerEntry } from '../ledger/entry.ts';
import type { Journal } from '../ledger/journal.ts';
import { costOf, type RequestBounds } from '../price/model-price.ts';
import type { Stop } from '../providers/call-clock.ts';
import { callEmbeddings } from '../providers/call-embeddings.ts';
import { callModel, type ModelCallResult } from '../providers/call-model.ts';
import type { Endpoints } from '../providers/endpoints.ts';
import { estimateUsage } from '../providers/estimate-usage.ts';
import type { Piece } from '../providers/reply-assembly.ts';
import { retryDelayMs } from '../providers/retry-after.ts';
import { admit, planCall, type AdmissionDeps, type Plan, type Target } from './admission.ts';
import { attemptsMaxOf, nextStep } from './attempts.ts';
import { freeBill, type Bill } from './bill.ts';
import type { ModelRequest } from './model-request.ts';
import { stopKindOf, type Denial } from './outcome.ts';
import { settleCall } from './settle.ts';
import { timeoutsOf } from './timeouts.ts';

export type CallDeps = AdmissionDeps & { endpoints: Endpoints; journal: Pick<Journal, 'append'>; log: Log };

export type CallContext = {
  traceId: string;
  /** Aborted with a `Stop` as the reason. */
  signal: AbortSignal;
  /** Aborts it. Only calls that may use what was held ahead for them need it. */
  breakOff?(reason: Stop): void;
  onPiece(piece: Piece): void;
};

/** What is to be settled of a call that reached an endpoint. */
export type Called = {
  outcome: 'called';
  target: Target;
  result: ModelCallResult;
  bill: Bill;
  bounds: RequestBounds;
  levels: readonly Level[];
  taken: readonly bigint[];
  entry: LedgerEntry;
};

export type Performed =
  | Called
  /** Settled before; what was stored then. */
  | { outcome: 'settled'; stored: string }
  | { outcome: 'in-use' }
  /** No endpoint was asked, nothing is held and nothing was spent. */
  | { outcome: 'denied'; denial: Denial };

/**
 * Makes the call. Throws `UnavailableError` when Postgres is away before an endpoint was asked, and when what was held ahead turns out
 * to be gone: then the call may be made anew.
 */
export async function performCall(deps: CallDeps, asked: ModelRequest, context: CallContext): Promise<Performed> {
  const request = await withRunOf(deps, asked);
  const plan = planCall(deps, request, Date.now());
  if ('denial' in plan) return await denyUnlessSettled(deps, request, plan.denial);
  noteLimits(deps, request, plan.levels);
  return await tryCandidates(deps, {
    request,
    context,
    plan,
    failures: [],
    attempts: 0,
    answerSchema: request.answerSchema,
  });
}

/** A call that is made for a run is one of that run's spending, too. */
async function withRunOf({ runLimits }: CallDeps, request: ModelRequest): Promise<ModelRequest> {
  const { spender, forRunId } = request;
  if (forRunId === undefined || spender.runs.length > 0) return request;
  return { ...request, spender: { ...spender, runs: await runLimits.find(spender.app, forRunId) } };
}

/** What other calls that are made for the run have to keep to. A closing call takes what they leave. */
function noteLimits(
  { runLimits }: CallDeps,
  { spender, isClosing, forRunId }: ModelRequest,
  levels: Plan['levels'],
): void {
  if (isClosing || forRunId !== undefined || spender.runs.length === 0) return;
  const runs = spender.runs.map(({ runId, limitNanoUsd }) => {
    const level = levels.find(({ key }) => key === keyOfRun(runId));
    return { runId, limitNanoUsd: level?.limit ?? limitNanoUsd };
  });
  runLimits.note({ app: spender.app, runs });
}

type Journey = {
  request: ModelRequest;
  context: CallContext;
  plan: Plan;
  /** What earlier attempts failed with. */
  failures: { called: Attempted; message: string }[];
  /** Calls made. */
  attempts: number;
  answerSchema: object | undefined;
};

type Admitted = { target: Target; bounds: RequestBounds };
type Attempted = Admitted & { result: ModelCallResult };

async function tryCandidates(deps: CallDeps, journey: Journey): Promise<Performed> {
  const { request, context, plan } = journey;
  let denial: Denial | undefined;
  for (const ranked of plan.ranked) {
    const isReplacing = journey.attempts > 0;
    const admitting = { request, plan, ranked, traceId: context.traceId, isReplacing };
    const admission = await admit(deps, admitting, Date.now());
    if (admission.outcome === 'denied') {
      denial ??= admission.denial;
      continue;
    }
    if (admission.outcome !== 'admitted') return admission;
    const isLast = ranked === plan.ranked.at(-1);
    const { confirming, ...admitted } = admission;
    if (confirming) journey.context = untilConfirmed(confirming, context);
    const attempted = await tryCandidate(deps, journey, { ...admitted, isLast });
    journey.context = context;
    const instead = confirming && (await insteadOf(deps, journey, { attempted, confirming }));
    if (instead) return instead;
    if (attempted) return await finish(deps, journey, attempted);
  }
  const last = journey.failures.at(-1);
  if (last) return await finish(deps, journey, last.called);
  return await denyUnlessSettled(
    deps,
    request,
    denial ?? { code: 'model_unavailable', message: 'No endpoint was left.' },
  );
}

/** Of a call that uses what was held ahead: it ends when Postgres doesn't hold for it, and nothing of it is told before. */
function untilConfirmed(confirming: Promise<HoldOutcome>, context: CallContext): CallContext {
  const isHeld = confirming.then(
    ({ outcome }) => outcome === 'held',
    () => false,
  );
  void isHeld.then((is) => !is && context.breakOff?.({ kind: 'not-held' }));
  return { ...context, onPiece: (piece) => void isHeld.then((is) => is && context.onPiece(piece)) };
}

/** Undefined where Postgres holds for the call. Else the call's cost is settled, and this is what comes instead of it. */
async function insteadOf(
  deps: CallDeps,
  journey: Journey,
  { attempted, confirming }: { attempted: Attempted | undefined; confirming: Promise<HoldOutcome> },
): Promise<Performed | undefined> {
  const held = await confirming.catch((error: unknown) => ({ outcome: 'failed' as const, error }));
  if (held.outcome === 'held') return undefined;
  if (attempted?.result.mayCost) await settleAttempt(deps, journey, attempted);
  switch (held.outcome) {
    case 'failed':
      throw held.error;
    case 'settled':
      return { outcome: 'settled', stored: held.thought };
    case 'in-use':
      return held;
    case 'refused':
      throw new UnavailableError('what had been held ahead for the call is gone');
  }
}

/** Asks one endpoint, several times if need be. Undefined when the next one is to be asked. */
async function tryCandidate(
  deps: CallDeps,
  journey: Journey,
  admitted: Admitted & { isLast: boolean },
): Promise<Attempted | undefined> {
  const { request, context, plan } = journey;
  const { isLast, ...held } = admitted;
  const attemptsMax = attemptsMaxOf(plan.spec, plan.ranked.length);
  for (let triesHere = 1; ; triesHere += 1) {
    const attempted = { ...held, result: await ask(deps, journey, admitted) };
    const { result } = attempted;
    const step = nextStep({ result, spec: plan.spec, attemptsLeft: attemptsMax - journey.attempts, isLast });
    if (step === 'done') return attempted;
    const message = 'message' in result.end ? result.end.message : 'no answer in time';
    if (step === 'fallback') {
      journey.failures.push({ called: attempted, message });
      if (result.mayCost) await settleAttempt(deps, journey, attempted);
      return undefined;
    }
    const retryAfterMs = result.end.kind === 'busy' ? result.end.retryAfterMs : undefined;
    const leftMs = request.deadlineAtMs - Date.now();
    const delayMs = retryDelayMs({ attempt: triesHere, retryAfterMs, leftMs, chance: Math.random() });
    if (delayMs === undefined) return attempted;
    journey.failures.push({ called: attempted, message });
    await pause(delayMs, undefined, { signal: context.signal }).catch(() => undefined);
    if (context.signal.aborted) {
      return { ...attempted, result: { ...result, end: { kind: 'stopped', stop: context.signal.reason as Stop } } };
    }
  }
}

/** One attempt; one more without the schema of the answer where the endpoint refuses the form of the request. */
async function ask(
  deps: CallDeps,
  journey: Journey,
  { target, bounds }: { target: Target; bounds: RequestBounds },
): Promise<ModelCallResult> {
  const { request, context, plan } = journey;
  const { candidate, apiKey } = target;
  journey.attempts += 1;
  deps.health.onStart(candidate);
  const make = request.operation === 'embeddings' ? callEmbeddings : callModel;
  const result = await make(deps.endpoints, {
    candidate,
    apiKey,
    messages: request.messages,
    tools: request.tools,
    options: request.options,
    answerSchema: candidate.capabilities?.jsonSchema === false ? undefined : journey.answerSchema,
    choices: request.choices,
    maxOutputTokens: Math.max(1, Math.floor(bounds.outputTokensMax / request.choices)),
    timeouts: timeoutsOf(plan.spec),
    leftMs: request.deadlineAtMs - Date.now(),
    callIdPrefix: request.callIdPrefix,
    signal: context.signal,
    onPiece: context.onPiece,
  });
  tellHealth(deps, target, result);
  if (result.end.kind === 'refused' && result.end.isForm && journey.answerSchema !== undefined) {
    journey.answerSchema = undefined;
    return await ask(deps, journey, { target, bounds });
  }
  return result;
}

function tellHealth({ health }: CallDeps, { candidate }: Target, { end, firstTokenMs }: ModelCallResult): void {
  if (end.kind === 'reply' || end.kind === 'refused') health.onSuccess(candidate, firstTokenMs);
  else if (end.kind === 'busy') health.onFailure(candidate, end.retryAfterMs);
  else if (end.kind === 'broken' || end.stop.kind === 'timeout') health.onFailure(candidate, undefined);
}

/** Money of an attempt that is given up for another endpoint. */
async function settleAttempt(deps: CallDeps, journey: Journey, attempted: Attempted): Promise<void> {
  const { taken, entry, levels } = await chargeOf(deps, journey, { ...attempted, isFinal: false });
  const settlement = { call: journey.request.address, levels, taken, entry, thought: undefined };
  await settleCall(deps, settlement, journey.context.signal);
}

async function finish(deps: CallDeps, journey: Journey, attempted: Attempted): Promise<Performed> {
  const told = { ...attempted, target: withStory(journey, attempted), result: withChain(journey, attempted) };
  const isCharged = journey.failures.some(({ called }) => called === attempted);
  const charge = await chargeOf(deps, journey, { ...told, isFinal: true, isCharged });
  return { ...told, ...charge, outcome: 'called' };
}

/** The reason for an endpoint that was not the first choice says which ones failed before. */
function withStory({ failures }: Journey, { target }: Attempted): Target {
  const earlier = failures.map(({ called }) => called.target.candidate.model);
  const failed = [...new Set(earlier)].filter((model) => model !== target.candidate.model);
  if (failed.length === 0) return target;
  return { ...target, routeReason: `${target.routeReason}, after ${failed.join(', ')} failed` };
}

/** The first failure is the one to tell; those of later attempts follow in its message. */
function withChain({ failures, attempts }: Journey, attempted: Attempted): ModelCallResult {
  const { result } = attempted;
  const [first] = failures;
  if (!first || result.end.kind === 'reply' || result.firstTokenMs !== undefined) return result;
  if (result.end.kind === 'stopped' && result.end.stop.kind !== 'timeout') return result;
  const last = 'message' in result.end ? result.end.message : 'no answer in time';
  const { end } = first.called.result;
  const message =
    last === first.message ? `${last}; tried ${attempts} times` : `${first.message}; after ${attempts} tries: ${last}`;
  if ('message' in end) return { ...result, end: { ...end, message } };
  return { ...result, end: { kind: 'busy', message, retryAfterMs: undefined } };
}

type Charged = Attempted & { isFinal: boolean; isCharged?: boolean };

async function chargeOf(
  deps: CallDeps,
  journey: Journey,
  charged: Charged,
): Promise<Omit<Called, 'outcome' | keyof Attempted>> {
  const { request, context, plan } = journey;
  const { target, bounds, result, isFinal, isCharged = false } = charged;
  const bill = isCharged ? freeBill : await billOf(request, charged);
  if (bill.usage.inputTokens > bounds.inputTokensMax || bill.usage.outputTokens > bounds.outputTokensMax) {
    const about = { ...request.address, bounds, usage: bill.usage };
    deps.log.warn(about, 'a model endpoint reports more than it may use');
  }
  const stopKind = stopKindOf(result, bounds.outputTokensMax < request.outputTokensMax);
  const entry = ledgerEntryOf({
    ...bill,
    callId: randomUUID(),
    request,
    endpoint: target.candidate,
    price: target.price,
    rates: plan.levels.map(({ rate }) => rate),
    stopKind,
    attempts: journey.attempts,
    traceId: context.traceId,
    at: new Date().toISOString(),
    isFinal: isFinal && stopKind !== 'abandoned',
  });
  const { levels } = plan;
  const isFree = isCharged || !result.mayCost;
  return { bill, levels, entry, taken: isFree ? levels.map(() => 0n) : takenOf(levels, target.price, bill.usage) };
}

async function billOf(request: ModelRequest, { target, bounds, result }: Attempted): Promise<Bill> {
  if (!result.mayCost) return freeBill;
  const measured = result.reply.usage;
  const usage = measured ?? (await estimateUsage(request, result.reply, bounds));
  return { usage, costNanoUsd: costOf(target.price, usage), basis: measured ? 'measured' : 'estimated' };
}

/** What was answered once stays answered, also when the route is gone by now. */
async function denyUnlessSettled(deps: CallDeps, request: ModelRequest, denial: Denial): Promise<Performed> {
  const stored = request.isAskedOnce ? undefined : await deps.store.storedReply(request.address);
  return stored === undefined ? { outcome: 'denied', denial } : { outcome: 'settled', stored };
}
