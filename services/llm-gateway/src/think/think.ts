/**
 * From think work to its thought: admit, call, charge.
 *
 * Invariants:
 * 1. No model is asked without a hold that covers whatever the call may cost (I13).
 * 2. The reply and its charge are committed together before the thought is handed out (I3); whoever asks again for the same
 *    work gets the same thought and pays nothing.
 */
import { thoughtSchema, UnavailableError, type Thought, type ThinkWork } from '@pawl/contracts';
import type { HoldingAhead, HoldsAhead } from '../budget/holds-ahead.ts';
import { needsOf } from '../budget/requirement.ts';
import type { Settlement } from '../budget/store.ts';
import { performCall, type CallDeps, type Called } from '../call/perform-call.ts';
import { settleCall } from '../call/settle.ts';
import type { Stop } from '../providers/call-clock.ts';
import type { Piece } from '../providers/reply-assembly.ts';
import { isForgotten } from '../retention/forget-replies.ts';
import { requestOfWork } from './request-of-work.ts';
import { calledThought, deniedThought, mayTell, textOf } from './thought-fact.ts';

export type ThinkDeps = CallDeps & { ahead: Pick<HoldsAhead, 'take' | 'begin'> };

/** No token is longer than so many bytes, as texts mostly are. */
const bytesPerToken = 8;
/** What a call brings into the conversation, as a rule. */
const bytesPerCall = 8_192;

export type Request = {
  work: ThinkWork;
  traceId: string;
  /** Whether nobody can have begun with it. */
  isFresh: boolean;
  /** Aborted with a `Stop` as the reason. */
  signal: AbortSignal;
  /** Aborts it. */
  breakOff(reason: Stop): void;
  onText(text: string): void;
};

/**
 * The thought of a piece of work; the same one however often it is asked for. Throws `UnavailableError` when Postgres is away,
 * when a rate limit is reached, or when this process stops: then the work has to be done again, later or elsewhere.
 */
export async function think(deps: ThinkDeps, request: Request): Promise<Thought> {
  const { work, traceId, signal, breakOff } = request;
  const startedAtMs = Date.now();
  const onPiece = work.areThoughtsHidden ? () => {} : (piece: Piece) => tellPiece(request, piece);
  const performed = await performCall(deps, requestOfWork(work, request.isFresh), {
    traceId,
    signal,
    breakOff,
    onPiece,
  });
  switch (performed.outcome) {
    case 'settled':
      return parseStored(work, performed.stored);
    case 'in-use':
      throw new UnavailableError('the same call is under way elsewhere');
    case 'denied': {
      const { denial } = performed;
      if (denial.code === 'rate_limited') throw new UnavailableError(denial.message);
      const thought = deniedThought(work, denial, { startedAtMs, endedAtMs: Date.now() });
      return await settle(deps, request, { levels: [], taken: [], entry: undefined, thought });
    }
    case 'called':
      return await settleCalled(deps, request, { called: performed, startedAtMs });
  }
}

async function settleCalled(
  deps: ThinkDeps,
  request: Request,
  { called, startedAtMs }: { called: Called; startedAtMs: number },
): Promise<Thought> {
  const { work, onText } = request;
  const { levels, taken, entry, result } = called;
  if (entry.stop_kind === 'abandoned') {
    await settleCall(deps, { call: work, levels, taken, entry, thought: undefined }, request.signal);
    throw new UnavailableError('the gateway stops; the model is asked again elsewhere');
  }
  // Where thoughts are hidden, words are told once it is known that there are no calls beside them.
  if (work.areThoughtsHidden && mayTell(work, result) && textOf(result.reply) !== '') onText(textOf(result.reply));
  const thought = calledThought(work, called, { startedAtMs, endedAtMs: Date.now() });
  const settled = await settle(deps, request, { levels, taken, entry, thought });
  if (settled === thought && goesOnSoon(deps, thought, work))
    deps.ahead.begin({ runId: work.runId, m: work.m + 1 }, nextHolding(called));
  return settled;
}

/** Whether the run is likely to think again soon: its tools are asked, and no agent among them, who thinks first on the same money. */
function goesOnSoon({ registry }: ThinkDeps, { outcome, calls }: Thought, { purpose, app }: ThinkWork): boolean {
  if (outcome !== 'reply' || calls.length === 0 || purpose === 'conclude') return false;
  return calls.every(({ tool }) => registry.find('Tool', app, tool)?.object.spec.agent === undefined);
}

/** What the next call is likely to need: the same, with this reply and what its calls may bring. */
function nextHolding({ levels, target, bounds, bill, result }: Called): HoldingAhead {
  const calls = result.reply.choices.flatMap((choice) => choice.calls).length;
  const inputTokensMax = bounds.inputTokensMax + bill.usage.outputTokens * bytesPerToken + calls * bytesPerCall;
  return { levels, needs: needsOf(levels, target.price, { ...bounds, inputTokensMax }) };
}

function tellPiece({ onText }: Request, piece: Piece): void {
  if (piece.kind === 'text' || piece.kind === 'refusal') onText(piece.text);
}

async function settle(
  deps: ThinkDeps,
  { work, signal }: Request,
  settlement: Omit<Settlement, 'call' | 'thought'> & { thought: Thought },
): Promise<Thought> {
  const thought = JSON.stringify(settlement.thought);
  const stored = await settleCall(deps, { ...settlement, call: work, thought }, signal);
  return stored === undefined ? settlement.thought : parseStored(work, stored);
}

function parseStored(work: ThinkWork, text: string): Thought {
  if (!isForgotten(text)) return thoughtSchema.parse(JSON.parse(text));
  const denial = { code: 'not_found', message: 'The reply of this call is no longer kept.' } as const;
  const now = Date.now();
  return deniedThought(work, denial, { startedAtMs: now, endedAtMs: now });
}
