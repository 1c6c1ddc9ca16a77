/** The thought fact of a piece of think work. Pure. */
import type { Thought, ThinkWork } from '@pawl/contracts';
import type { Target } from '../call/admission.ts';
import { freeBill, type Bill } from '../call/bill.ts';
import { denialOf, type Denial } from '../call/outcome.ts';
import type { RequestBounds } from '../price/model-price.ts';
import type { ModelCallResult } from '../providers/call-model.ts';
import type { AssembledReply } from '../providers/reply-assembly.ts';

export type Clocking = { startedAtMs: number; endedAtMs: number };

/** The thought of work that never reached a model. */
export function deniedThought(work: ThinkWork, denial: Denial, clocking: Clocking): Thought {
  const { code, message, closingTokens } = denial;
  const error = { code, message, ...(closingTokens === undefined ? {} : { closingTokens }) };
  return { ...baseOf(work, clocking), ...billed(freeBill), outcome: 'failed', text: '', calls: [], error };
}

/** The thought of a call that was made. A broken one keeps its text, and never its calls. */
export function calledThought(
  work: ThinkWork,
  made: { target: Target; result: ModelCallResult; bill: Bill; bounds: RequestBounds },
  clocking: Clocking,
): Thought {
  const { target, result, bill } = made;
  const { candidate, routeReason } = target;
  const { reply, firstTokenMs } = result;
  const { calls, finishReason } = reply.choices[0];
  const denial = denialOf(result.end);
  const cutBy = finishReason === 'length' ? limitOf(work, made.bounds) : undefined;
  return {
    ...baseOf(work, clocking),
    ...billed(bill),
    outcome: denial ? 'failed' : 'reply',
    text: mayTell(work, result) ? textOf(reply) : '',
    calls: denial ? [] : calls,
    ...(finishReason === undefined ? {} : { finishReason }),
    ...(cutBy === undefined ? {} : { cutBy }),
    ...(denial ? { error: { code: thoughtCodeOf(denial), message: denial.message } } : {}),
    route: {
      provider: candidate.provider,
      model: candidate.model,
      ...(candidate.region === undefined ? {} : { region: candidate.region }),
      routeReason,
      ...(reply.responseId === undefined ? {} : { responseId: reply.responseId }),
    },
    ...(firstTokenMs === undefined ? {} : { firstTokenMs }),
  };
}

/** What kept a reply shorter than such replies may be. */
function limitOf(work: ThinkWork, { outputTokensMax }: RequestBounds): Thought['cutBy'] {
  if (outputTokensMax < work.maxOutputTokens) return 'spend';
  return work.isOutputShort ? 'tokens' : undefined;
}

/** The words of a reply; those of a refusal where there are no others. */
export function textOf({ choices: [first] }: AssembledReply): string {
  return first.text || first.refusal;
}

/**
 * Whether the words of a reply may be told. Hidden thoughts are the words beside calls: of a reply that broke, nobody knows
 * whether calls would have followed.
 */
export function mayTell(work: ThinkWork, { reply, end }: Pick<ModelCallResult, 'reply' | 'end'>): boolean {
  return !work.areThoughtsHidden || (end.kind === 'reply' && reply.choices[0].calls.length === 0);
}

/** An endpoint that has too much to do is to a run one that does not answer. */
function thoughtCodeOf({ code }: Denial): Denial['code'] {
  return code === 'rate_limited' ? 'model_unavailable' : code;
}

function baseOf(work: ThinkWork, { startedAtMs, endedAtMs }: Clocking) {
  return {
    v: 1 as const,
    kind: 'thought' as const,
    runId: work.runId,
    app: work.app,
    at: new Date(endedAtMs).toISOString(),
    m: work.m,
    purpose: work.purpose,
    ...(work.closing === undefined ? {} : { closing: work.closing }),
    ...(work.signalsSeen === undefined ? {} : { signalsSeen: work.signalsSeen }),
    startedAt: new Date(startedAtMs).toISOString(),
    durationMs: Math.max(0, endedAtMs - startedAtMs),
  };
}

function billed(bill: Bill) {
  return { usage: bill.usage, costNanoUsd: bill.costNanoUsd.toString(), costBasis: bill.basis };
}
