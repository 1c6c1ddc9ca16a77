/**
 * From think work to its thought: admit, call, charge.
 *
 * Invariants:
 * 1. No model is asked without a hold that covers whatever the call may cost (I13).
 * 2. The reply and its charge are committed together before the thought is handed out (I3); whoever asks again for the same
 *    work gets the same thought and pays nothing.
 */
import { randomUUID } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { durationMs, thoughtSchema, UnavailableError, type Thought, type ThinkWork } from '@pawl/contracts';
import type { Log } from '@pawl/service';
import { takenOf } from '../budget/requirement.ts';
import type { Settlement } from '../budget/store.ts';
import { ledgerEntryOf } from '../ledger/entry.ts';
import { costOf } from '../price/model-price.ts';
import type { Timeouts } from '../providers/call-clock.ts';
import { answerSchemaOf } from '../providers/answer-format.ts';
import { callWithRetries, type Answer } from '../providers/call-with-retries.ts';
import type { Endpoints } from '../providers/endpoints.ts';
import { estimateUsage } from '../providers/estimate-usage.ts';
import { admit, type Admission, type AdmissionDeps } from './admission.ts';
import { calledThought, deniedThought, freeBill, mayTell, stopKindOf, type Bill } from './thought-fact.ts';

export type ThinkDeps = AdmissionDeps & { endpoints: Endpoints; log: Log };

export type Request = {
  work: ThinkWork;
  traceId: string;
  /** Aborted with a `Stop` as the reason. */
  signal: AbortSignal;
  onText(text: string): void;
};

type Admitted = Admission & { outcome: 'admitted' };

const retriesMaxDefault = 1;
const timeoutDefaults = { connect: '5s', headers: '60s', firstToken: '60s', idle: '30s', total: '300s' } as const;
const chargePauseMaxMs = 5_000;

/**
 * The thought of a piece of work; the same one however often it is asked for. Throws `UnavailableError` when Postgres is away
 * or this process stops: then the work has to be done again, here or elsewhere.
 */
export async function think(deps: ThinkDeps, request: Request): Promise<Thought> {
  const { work } = request;
  const startedAtMs = Date.now();
  const admission = await admit(deps, work, startedAtMs);
  switch (admission.outcome) {
    case 'settled':
      return parseStored(admission.thought);
    case 'denied': {
      const thought = deniedThought(work, admission.denial, { startedAtMs, endedAtMs: Date.now() });
      return await settle(deps, request, { levels: [], taken: [], entry: undefined, thought });
    }
    case 'admitted':
      return await callAndCharge(deps, request, admission);
  }
}

async function callAndCharge(deps: ThinkDeps, request: Request, admission: Admitted): Promise<Thought> {
  const { work, traceId } = request;
  const { target, levels, bounds } = admission;
  const startedAtMs = Date.now();
  const answer = await callEndpoint(deps, request, admission);
  tellHeldBack(request, answer);
  const bill = await billOf(answer, request.work, admission);
  const endedAtMs = Date.now();
  if (bill.usage.inputTokens > bounds.inputTokensMax || bill.usage.outputTokens > bounds.outputTokensMax) {
    deps.log.warn(
      { runId: work.runId, m: work.m, bounds, usage: bill.usage },
      'a model endpoint reports more than it may use',
    );
  }

  const stopKind = stopKindOf(answer.result.end);
  const entry = ledgerEntryOf({
    ...bill,
    callId: randomUUID(),
    work,
    endpoint: target.candidate,
    price: target.price,
    stopKind,
    attempts: answer.attempts,
    traceId,
    at: new Date(endedAtMs).toISOString(),
  });
  const taken = answer.result.mayCost ? takenOf(levels, target.price, bill.usage) : levels.map(() => 0n);
  if (stopKind === 'abandoned') {
    await deps.store.charge({ call: work, levels, taken, entry, thought: undefined });
    throw new UnavailableError('the gateway stops; the model is asked again elsewhere');
  }
  const thought = calledThought(work, { target, result: answer.result, bill }, { startedAtMs, endedAtMs });
  return await settle(deps, request, { levels, taken, entry, thought });
}

function callEndpoint(deps: ThinkDeps, request: Request, { target, bounds }: Admitted): Promise<Answer> {
  const { work } = request;
  const { candidate, spec, apiKey } = target;
  return callWithRetries(
    deps.endpoints,
    {
      provider: candidate.provider,
      model: candidate.model,
      baseUrl: candidate.baseUrl,
      apiKey,
      messages: work.messages,
      tools: work.tools,
      maxOutputTokens: bounds.outputTokensMax,
      timeouts: timeoutsOf(spec.timeouts),
      deadlineAtMs: Date.parse(work.deadlineAt),
      callIdPrefix: `call_${work.m}`,
      signal: request.signal,
      onText: work.areThoughtsHidden ? () => {} : request.onText,
      answerSchema: answerSchemaOf(work),
    },
    spec.retry?.max ?? retriesMaxDefault,
  );
}

/** Where thoughts are hidden, the words of a reply are told once it is known that there are no calls beside them. */
function tellHeldBack({ work, onText }: Request, { result }: Answer): void {
  if (work.areThoughtsHidden && mayTell(work, result) && result.reply.text !== '') onText(result.reply.text);
}

async function billOf({ result }: Answer, work: ThinkWork, { target, bounds }: Admitted): Promise<Bill> {
  if (!result.mayCost) return freeBill;
  const measured = result.reply.usage;
  const usage = measured ?? (await estimateUsage(work, result.reply, bounds));
  return { usage, costNanoUsd: costOf(target.price, usage), basis: measured ? 'measured' : 'estimated' };
}

/** Commits a thought with its money; waits for Postgres as long as this process may live, so that no paid reply is lost. */
async function settle(
  deps: ThinkDeps,
  { work, signal }: Request,
  settlement: Omit<Settlement, 'call' | 'thought'> & { thought: Thought },
): Promise<Thought> {
  for (let pauseMs = 100; ; pauseMs = Math.min(pauseMs * 2, chargePauseMaxMs)) {
    try {
      const stored = await deps.store.charge({
        ...settlement,
        call: work,
        thought: JSON.stringify(settlement.thought),
      });
      return stored === undefined ? settlement.thought : parseStored(stored);
    } catch (error) {
      const isStopping = signal.aborted && (signal.reason as { kind?: unknown }).kind === 'shutdown';
      if (!(error instanceof UnavailableError) || isStopping) throw error;
      deps.log.error({ err: error, runId: work.runId, m: work.m }, 'a charge waits for Postgres');
      await pause(pauseMs);
    }
  }
}

function parseStored(text: string): Thought {
  return thoughtSchema.parse(JSON.parse(text));
}

function timeoutsOf(timeouts: Partial<Record<keyof typeof timeoutDefaults, string | undefined>> | undefined): Timeouts {
  const limit = (phase: keyof typeof timeoutDefaults) => durationMs(timeouts?.[phase] ?? timeoutDefaults[phase]);
  return {
    connectMs: limit('connect'),
    headersMs: limit('headers'),
    firstTokenMs: limit('firstToken'),
    idleMs: limit('idle'),
    totalMs: limit('total'),
  };
}
