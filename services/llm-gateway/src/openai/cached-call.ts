/** Calls that may be answered from the cache. A hit costs nothing and is a line of its own in the books, marked as what it is. */
import { randomUUID } from 'node:crypto';
import { durationMs } from '@pawl/contracts';
import type { AnswerCache } from '../cache/answer-cache.ts';
import { cacheKeyOf } from '../cache/cache-key.ts';
import type { LedgerEntry } from '../ledger/entry.ts';
import {
  answerSchema,
  completeCall,
  storedOf,
  type CallAnswer,
  type CompleteDeps,
  type HttpCall,
} from './complete-call.ts';

export const cacheHitNote = 'cache hit';

export type Answered = { answer: CallAnswer; isReplay: boolean; isCached: boolean };

/** The answer, from the cache where that is allowed and it has one. Throws like `completeCall`. */
export async function answerCall(deps: CompleteDeps & { cache: AnswerCache }, call: HttpCall): Promise<Answered> {
  const { request } = call;
  const spec = deps.registry.find('ModelRoute', request.spender.app, request.route)?.object.spec;
  const key = spec && cacheKeyOf(request, spec);
  if (key === undefined || !spec?.cache) return { ...(await completeCall(deps, call)), isCached: false };
  const found = await deps.cache.find(key);
  const answer = found && answerSchema.safeParse(JSON.parse(found.answer)).data;
  if (found && answer) {
    const again = { ...answer, id: request.address.runId, createdS: Math.floor(Date.now() / 1_000) };
    await chargeHit(deps, call, { line: found.line, answer: again });
    return { answer: again, isReplay: true, isCached: true };
  }
  const made = await completeCall(deps, call);
  if (made.entry?.stop_kind === 'complete') {
    const { app } = request.spender;
    const kept = { answer: JSON.stringify(made.answer), line: made.entry };
    await deps.cache.put({ ...kept, key, app, ttlMs: durationMs(spec.cache.ttl) });
  }
  return { ...made, isCached: false };
}

async function chargeHit(
  deps: CompleteDeps,
  call: HttpCall,
  { line, answer }: { line: LedgerEntry; answer: CallAnswer },
): Promise<void> {
  const { request, caller } = call;
  const entry: LedgerEntry = {
    ...line,
    call_id: randomUUID(),
    at: new Date().toISOString(),
    user_id: request.spender.userId ?? null,
    run_id: request.address.runId,
    for_run_id: request.forRunId ?? null,
    attempts: 0,
    cost_nano_usd: '0',
    trace_id: caller.trace.traceId,
    is_final: false,
    note: cacheHitNote,
  };
  const thought = call.isKept ? storedOf(deps, call, answer) : undefined;
  await deps.store.charge({ call: request.address, levels: [], taken: [], entry, thought });
}
