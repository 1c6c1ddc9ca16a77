/**
 * One model call, streamed. It says how the call ended and what is known of its usage; what that costs and whether to try
 * again is decided elsewhere. Texts of messages and replies are never logged.
 */
import type { Candidate } from '@pawl/contracts';
import { openMessagesStream } from './anthropic-messages.ts';
import { startCallClock, type CallClock, type Stop, type Timeouts } from './call-clock.ts';
import type { Endpoints } from './endpoints.ts';
import { failureOfRequest, failureOfStream, type Failure } from './failure.ts';
import { openChatStream } from './openai-chat.ts';
import { createReplyAssembly, type AssembledReply, type Piece } from './reply-assembly.ts';

export type ModelCall = {
  candidate: Pick<Candidate, 'provider' | 'model' | 'baseUrl' | 'api' | 'price'>;
  apiKey: string;
  /** Messages and tools in OpenAI's form. */
  messages: readonly object[];
  tools: readonly object[];
  /** Further fields of a request, in OpenAI's words. */
  options: Readonly<Record<string, unknown>>;
  /** JSON Schema that the endpoint is asked to hold the model to. */
  answerSchema?: object | undefined;
  /** Replies that are asked for, at least 1. */
  choices: number;
  /** For each choice, at least 1; sent as the provider's own limit. */
  maxOutputTokens: number;
  timeouts: Timeouts;
  /** Until the caller's deadline. */
  leftMs: number;
  /** Names calls that came without an id. */
  callIdPrefix: string;
  /** Aborted with a `Stop` as the reason. */
  signal: AbortSignal;
  onPiece(piece: Piece): void;
};

export type ModelCallResult = {
  /** What came, whole or not. */
  reply: AssembledReply;
  /** Of calls that don't give words: the answer as the endpoint gave it. */
  body?: unknown;
  /** From the start of the call. */
  firstTokenMs?: number;
  /** Whether the endpoint may bill for it: it took the request and did not refuse it. */
  mayCost: boolean;
  end:
    | {
        kind: 'reply';
        /** Whether it was ended from here because the endpoint did not keep the limit. */
        isCut?: boolean;
      }
    | Failure
    | { kind: 'stopped'; stop: Stop };
};

/** Parts of a reply beyond its limit that are let through: a part is mostly, not always, a whole token. */
const piecesOverMax = 32;

/** What a call has while it is under way. */
type UnderWay = {
  signal: AbortSignal;
  clock: CallClock;
  /** The result; when the call was ended from here, that is how it ended. */
  finish(end: ModelCallResult['end'], reply: AssembledReply): ModelCallResult;
};

/** Runs a call within its time limits and until whoever wants it has gone. */
export async function callUnderClock(
  call: ModelCall,
  body: (underWay: UnderWay) => Promise<ModelCallResult>,
): Promise<ModelCallResult> {
  const abort = new AbortController();
  const onStop = () => abort.abort(call.signal.reason);
  if (call.signal.aborted) onStop();
  call.signal.addEventListener('abort', onStop, { once: true });
  const clock = startCallClock(call.timeouts, call.leftMs, (reason) => abort.abort(reason));
  const wasSent = !call.signal.aborted;
  const finish: UnderWay['finish'] = (end, reply) => {
    const isStopped = abort.signal.aborted && end.kind !== 'reply';
    return {
      reply,
      mayCost: isStopped ? wasSent : end.kind === 'reply' || end.kind === 'broken',
      end: isStopped ? { kind: 'stopped', stop: abort.signal.reason as Stop } : end,
    };
  };
  try {
    return await body({ signal: abort.signal, clock, finish });
  } finally {
    clock.end();
    call.signal.removeEventListener('abort', onStop);
  }
}

/** Makes the call and never throws for what the endpoint does. */
export async function callModel(endpoints: Endpoints, call: ModelCall): Promise<ModelCallResult> {
  const startedAt = performance.now();
  const assembly = createReplyAssembly(call.callIdPrefix, call.choices);
  let firstTokenMs: number | undefined;
  let hasHead = false;
  return await callUnderClock(call, async ({ signal, clock, finish }) => {
    const end = (how: ModelCallResult['end']): ModelCallResult => ({
      ...finish(how, assembly.result()),
      ...(firstTokenMs === undefined ? {} : { firstTokenMs }),
    });
    try {
      const stream = await openStream(endpoints, call, signal);
      hasHead = true;
      clock.onHeaders();
      let piecesLeft = call.choices * call.maxOutputTokens + piecesOverMax;
      for await (const chunk of stream) {
        const { pieces, isAlive } = assembly.add(chunk);
        if (isAlive) {
          firstTokenMs ??= performance.now() - startedAt;
          piecesLeft -= 1;
          clock.onContent();
        }
        pieces.forEach(call.onPiece);
        if (piecesLeft < 0) return end(cutShort(call, assembly.add));
      }
      return end(endOf(assembly.result()));
    } catch (error) {
      if (isWhole(assembly.result())) return end({ kind: 'reply' });
      return end(hasHead ? failureOfStream(error, call.apiKey) : failureOfRequest(error, call.apiKey));
    }
  });
}

function openStream(endpoints: Endpoints, call: ModelCall, signal: AbortSignal) {
  const { api, provider } = call.candidate;
  const speaks = api ?? (provider === 'anthropic' ? 'anthropic' : 'openai');
  const open = speaks === 'anthropic' ? openMessagesStream : openChatStream;
  return open(endpoints, call, signal);
}

/** Ends every choice as a provider does that keeps the limit. Leaving the loop closes the connection. */
function cutShort(call: ModelCall, add: ReturnType<typeof createReplyAssembly>['add']): ModelCallResult['end'] {
  const choices = Array.from({ length: call.choices }, (_none, index) => ({ index, finish_reason: 'length' }));
  add({ choices }).pieces.forEach(call.onPiece);
  return { kind: 'reply', isCut: true };
}

/** A stream that ends quietly before the provider has said that it is finished is half an answer. */
function endOf(reply: AssembledReply): ModelCallResult['end'] {
  if (isWhole(reply)) return { kind: 'reply' };
  const message = reply.choices.some(({ finishReason }) => finishReason === undefined)
    ? 'the model endpoint ended the stream in the middle of the reply'
    : 'the model asked for a tool call without naming the tool';
  return { kind: 'broken', code: 'model_bad_reply', message };
}

function isWhole({ choices }: AssembledReply): boolean {
  return choices.every(
    ({ finishReason, calls }) => finishReason !== undefined && calls.every((call) => call.tool !== ''),
  );
}
