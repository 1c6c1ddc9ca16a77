/** One line of the books: a call that reached a model endpoint, what it used and what it cost. */
import type { Thought, Usage } from '@pawl/contracts';
import type { ModelRequest } from '../call/model-request.ts';
import { rateRecord, type Rate } from '../price/exchange-rates.ts';
import { storable } from './storable.ts';
import { priceRecord, type ModelPrice } from '../price/model-price.ts';

/**
 * How the call ended. `complete`: with a whole reply. `budget_cut`: at a limit that a budget had lowered. `truncated`: in the
 * middle. `upstream_error`: the endpoint said so, or its connection broke. `stalled`: a time limit was hit. `client_abort`,
 * `run_stopped`: nobody wanted it any more. `refused`, `unavailable`: the endpoint didn't take it. `abandoned`: given up by a
 * process that had to stop. `lost`: its process died. `correction`: no call, but a later change of what one cost.
 */
export type StopKind =
  | 'complete'
  | 'budget_cut'
  | 'truncated'
  | 'upstream_error'
  | 'stalled'
  | 'client_abort'
  | 'run_stopped'
  | 'refused'
  | 'unavailable'
  | 'abandoned'
  | 'lost'
  | 'correction';

/** Named as the columns of `gateway.ledger`. */
export type LedgerEntry = {
  call_id: string;
  at: string;
  app: string;
  agent: string | null;
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
  /** By which rates it was priced, or counted on budgets, in other currencies than USD. */
  rates: ReturnType<typeof rateRecord>;
  basis: Thought['costBasis'];
  stop_kind: StopKind;
  trace_id: string;
  /** Whether it is the line of the call's settled reply: there is one such line for a call. */
  is_final: boolean;
  /** The run that a call over HTTP was made for. */
  for_run_id: string | null;
  /** What had been held for a lost call. */
  held_nano_usd: string | null;
  /** Of a correction: the line that it corrects, and why. */
  corrects: string | null;
  note: string | null;
};

export type Charge = {
  callId: string;
  request: ModelRequest;
  endpoint: { provider: string; model: string; region?: string | undefined };
  price: ModelPrice;
  /** Of the levels on which it counts. */
  rates?: readonly (Rate | undefined)[];
  usage: Usage;
  costNanoUsd: bigint;
  basis: Thought['costBasis'];
  stopKind: StopKind;
  attempts: number;
  traceId: string;
  at: string;
  isFinal: boolean;
};

/** The line of a charge. Free text is made fit for Postgres. */
export function ledgerEntryOf(charge: Charge): LedgerEntry {
  const { request, endpoint, usage } = charge;
  const { spender, address } = request;
  return {
    call_id: charge.callId,
    at: charge.at,
    app: spender.app,
    agent: spender.agent ?? null,
    user_id: spender.userId === undefined ? null : storable(spender.userId),
    run_id: address.runId,
    m: address.m,
    purpose: request.purpose,
    provider: storable(endpoint.provider),
    model: storable(endpoint.model),
    region: endpoint.region === undefined ? null : storable(endpoint.region),
    route: request.route,
    attempts: charge.attempts,
    input_tokens: usage.inputTokens,
    cached_input_tokens: usage.cachedInputTokens,
    cache_write_tokens: usage.cacheWriteTokens,
    output_tokens: usage.outputTokens,
    reasoning_tokens: usage.reasoningTokens,
    cost_nano_usd: charge.costNanoUsd.toString(),
    price: priceRecord(charge.price),
    rates: rateRecord([charge.price.rate, ...(charge.rates ?? [])]),
    basis: charge.basis,
    stop_kind: charge.stopKind,
    trace_id: charge.traceId,
    is_final: charge.isFinal,
    for_run_id: request.forRunId ?? null,
    held_nano_usd: null,
    corrects: null,
    note: null,
  };
}
