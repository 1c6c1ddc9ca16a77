/**
 * A model call for a client of the OpenAI-compatible API: made once, settled once, and answered again for the same
 * idempotency key.
 *
 * Invariant: what the client is told to be whole has been charged before (I3).
 */
import { z } from 'zod';
import { sha256, UnavailableError, usageSchema } from '@pawl/contracts';
import { newSpanId, recordSpan } from '@pawl/telemetry';
import type { ModelRequest } from '../call/model-request.ts';
import { denialOf } from '../call/outcome.ts';
import { performCall, type CallDeps, type Called } from '../call/perform-call.ts';
import { settleCall } from '../call/settle.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import type { Piece } from '../providers/reply-assembly.ts';
import { chatAttributes } from '../call/chat-attributes.ts';
import type { Redact } from '../retention/redact.ts';
import { isForgotten } from '../retention/forget-replies.ts';
import type { HttpCaller } from './caller.ts';
import { OpenAiError } from './openai-errors.ts';

const choiceSchema = z.object({
  text: z.string(),
  refusal: z.string(),
  calls: z.array(z.object({ id: z.string(), tool: z.string(), args: z.string() })),
  finishReason: z.string().optional(),
});

/** What a client gets of a call, in whatever form its API has. */
export const answerSchema = z.object({
  id: z.string(),
  createdS: z.number(),
  choices: z.array(choiceSchema),
  usage: usageSchema,
  /** Of calls that don't give words: the answer as the endpoint gave it. */
  body: z.unknown().optional(),
});
export type CallAnswer = z.infer<typeof answerSchema>;

/** `fingerprint` is empty where nobody can ask for the same again; `app` is there where parts of it may be referred to. */
export const storedSchema = z.object({ fingerprint: z.string(), app: z.string().optional(), answer: answerSchema });

export type Completed = {
  answer: CallAnswer;
  /** Whether it had been given before: then no piece of it was told. */
  isReplay: boolean;
  /** Its line in the books; absent when it was given before. */
  entry?: LedgerEntry;
};

export type HttpCall = {
  caller: HttpCaller;
  request: ModelRequest;
  /** What was asked for, as it came: the same key for something else is refused. */
  body: unknown;
  /** Whether the answer is kept, also without a key, so that its parts may be referred to. */
  isKept?: boolean;
  signal: AbortSignal;
  onPiece(piece: Piece): void;
};

export type CompleteDeps = CallDeps & { redact: Redact };

/** The answer. Throws `OpenAiError` for whatever keeps the call from having one. */
export async function completeCall(deps: CompleteDeps, call: HttpCall): Promise<Completed> {
  try {
    return await makeCall(deps, call);
  } catch (error) {
    if (!(error instanceof OpenAiError) && !(error instanceof UnavailableError)) await giveBack(deps, call.request);
    throw error;
  }
}

/** After a mistake of our own: a hold that stays would be renewed for as long as this process lives. */
async function giveBack({ store, slices, log }: CallDeps, { address }: ModelRequest): Promise<void> {
  slices.settle(address);
  const nothing = { call: address, levels: [], taken: [], entry: undefined, thought: undefined };
  await store
    .charge(nothing)
    .catch((error: unknown) => log.error({ err: error, ...address }, 'a hold could not be given back'));
}

async function makeCall(deps: CompleteDeps, call: HttpCall): Promise<Completed> {
  const { caller, request, signal, onPiece } = call;
  const startedAtMs = Date.now();
  const performed = await performCall(deps, request, { traceId: caller.trace.traceId, signal, onPiece });
  switch (performed.outcome) {
    case 'denied':
      throw new OpenAiError(performed.denial);
    case 'in-use':
      throw new OpenAiError({ code: 'conflict', message: 'A call with this Idempotency-Key is under way.' });
    case 'settled':
      return { answer: answerAgain(performed.stored, fingerprintOf(call)), isReplay: true };
    case 'called': {
      const answer = answerOf(request, performed);
      const denial = denialOf(performed.result.end);
      const stored = denial ? undefined : storedOf(deps, call, answer);
      const { levels, taken } = performed;
      // After a failure the same key may be used again: that will be another line.
      const entry = { ...performed.entry, is_final: !denial };
      await settleCall(deps, { call: request.address, levels, taken, entry, thought: stored }, signal);
      recordCallSpan(call, performed, startedAtMs);
      if (denial) throw new OpenAiError(denial);
      return { answer, isReplay: false, entry };
    }
  }
}

function fingerprintOf({ caller, body }: HttpCall): string | undefined {
  return caller.idempotencyKey === undefined ? undefined : sha256(JSON.stringify(body));
}

/** What is kept of an answer, without what its app wants taken out; undefined where nobody may ask for it. */
export function storedOf({ redact }: CompleteDeps, call: HttpCall, answer: CallAnswer): string | undefined {
  const fingerprint = fingerprintOf(call);
  if (fingerprint === undefined && !call.isKept) return undefined;
  const { app } = call.caller;
  return redact(app, JSON.stringify({ fingerprint: fingerprint ?? '', ...(call.isKept ? { app } : {}), answer }));
}

function answerOf(request: ModelRequest, { result, bill }: Called): CallAnswer {
  const { choices } = result.reply;
  return {
    id: request.address.runId,
    createdS: Math.floor(Date.now() / 1_000),
    choices,
    usage: bill.usage,
    ...(result.body === undefined ? {} : { body: result.body }),
  };
}

function answerAgain(stored: string, fingerprint: string | undefined): CallAnswer {
  if (isForgotten(stored)) {
    throw new OpenAiError({ code: 'conflict', message: 'The answer to this Idempotency-Key is no longer kept.' });
  }
  const known = storedSchema.parse(JSON.parse(stored));
  if (known.fingerprint === fingerprint) return known.answer;
  const message = 'This Idempotency-Key was used for another request.';
  throw new OpenAiError({ code: 'idempotency_key_reused', message });
}

function recordCallSpan({ caller, request }: HttpCall, { target, result, bill }: Called, startedAtMs: number): void {
  const denial = denialOf(result.end);
  const [first] = result.reply.choices;
  recordSpan({
    name: `chat ${target.candidate.model}`,
    kind: 'client',
    trace: {
      traceId: caller.trace.traceId,
      spanId: newSpanId(),
      parentSpanId: caller.trace.spanId,
      isSampled: caller.trace.isSampled,
    },
    startedAtMs,
    endedAtMs: Date.now(),
    attributes: chatAttributes({
      route: { ...target.candidate, routeReason: target.routeReason, responseId: result.reply.responseId },
      finishReason: first.finishReason,
      firstTokenMs: result.firstTokenMs,
      usage: bill.usage,
      app: request.spender.app,
      purpose: request.purpose,
      costNanoUsd: bill.costNanoUsd.toString(),
    }),
    ...(denial ? { error: { type: denial.code, message: denial.message } } : {}),
  });
}
