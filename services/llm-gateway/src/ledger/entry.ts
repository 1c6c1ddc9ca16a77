/** One line of the books: a call that reached a model endpoint, what it used and what it cost. */
import type { Thought, ThinkWork, Usage } from '@pawl/contracts';
import { storable } from './storable.ts';
import { priceRecord, type ModelPrice } from '../price/model-price.ts';

/** How the call ended. `abandoned`: given up by a process that had to stop. */
export type StopKind = 'reply' | 'refused' | 'unavailable' | 'broken' | 'stopped' | 'abandoned';

/** Named as the columns of `gateway.ledger`. */
export type LedgerEntry = {
  call_id: string;
  at: string;
  app: string;
  agent: string;
  user_id: string | null;
  run_id: string;
  m: number;
  purpose: string;
  provider: string;
  model: string;
  region: string | null;
  route: string;
  attempts: number;
  input_tokens: number;
  cached_input_tokens: number;
  cache_write_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
  cost_nano_usd: string;
  price: object;
  basis: Thought['costBasis'];
  stop_kind: StopKind;
  trace_id: string;
};

export type Charge = {
  callId: string;
  work: ThinkWork;
  endpoint: { provider: string; model: string; region?: string | undefined };
  price: ModelPrice;
  usage: Usage;
  costNanoUsd: bigint;
  basis: Thought['costBasis'];
  stopKind: StopKind;
  attempts: number;
  traceId: string;
  at: string;
};

/** The line of a charge. Free text is made fit for Postgres. */
export function ledgerEntryOf(charge: Charge): LedgerEntry {
  const { work, endpoint, usage } = charge;
  return {
    call_id: charge.callId,
    at: charge.at,
    app: work.app,
    agent: work.agent,
    user_id: work.user ? storable(work.user.id) : null,
    run_id: work.runId,
    m: work.m,
    purpose: work.purpose,
    provider: storable(endpoint.provider),
    model: storable(endpoint.model),
    region: endpoint.region === undefined ? null : storable(endpoint.region),
    route: work.route,
    attempts: charge.attempts,
    input_tokens: usage.inputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
    cost_nano_usd: charge.costNanoUsd.toString(),
    price: priceRecord(charge.price),
    basis: charge.basis,
    stop_kind: charge.stopKind,
    trace_id: charge.traceId,
  };
}
