/**
 * Metrics of what is stored. Each record counts once, in the replica that stored it, however often it is delivered.
 * Names follow the OpenTelemetry conventions for GenAI; labels have few values, never names that apps choose.
 */
import { purposes, stopReasons, streams, type Ended, type Thought } from '@pawl/contracts';
import type { Bus } from '@pawl/bus';
import type { Database } from '@pawl/db';
import { registerGauges } from '@pawl/service';
import { Counter, Histogram, type Registry } from 'prom-client';
import { consumerName } from './facts.ts';
import type { TraceRecord } from './record/record.ts';
import { countSetAside } from './store/rejected-rows.ts';

/** Seconds: 0.01·2^n up to 81.92, as the conventions advise. */
const buckets = Array.from({ length: 14 }, (_unused, power) => 0.01 * 2 ** power);
const runBuckets = Array.from({ length: 16 }, (_unused, power) => 0.1 * 2 ** power);
const countBuckets = [0, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89];

export type TraceMetrics = {
  onStored(records: readonly TraceRecord[]): void;
  /** Told of each request with spans of other agents: how many were new, and how many were refused. */
  onSpans(spans: { stored: number; refused: number }): void;
};

export type TraceMetricsOptions = {
  registry: Registry;
  bus: Bus;
  database: Database;
  nowMs?: () => number;
};

export function createTraceMetrics(options: TraceMetricsOptions): TraceMetrics {
  const { registry, bus, nowMs = Date.now } = options;
  const registers = [registry];
  const stored = new Counter({
    name: 'pawl_traces_records_total',
    help: 'Records that were stored, by kind',
    labelNames: ['kind'],
    registers,
  });
  const delay = new Histogram({
    name: 'pawl_traces_store_delay_seconds',
    help: 'From the writing of a fact to its commit in Postgres',
    buckets,
    registers,
  });
  const onThought = inferenceMetrics(registers);
  const onEnded = runMetrics(registers);
  let latestAtMs = nowMs();
  const spans = new Counter({
    name: 'pawl_otlp_spans_total',
    help: 'Spans of other agents: stored for the first time, or refused',
    labelNames: ['outcome'],
    registers,
  });
  for (const outcome of ['stored', 'refused']) spans.inc({ outcome }, 0);
  registerGauges({
    registry,
    look: () => countSetAside(options.database),
    gauges: {
      pawl_traces_set_aside: {
        help: 'Messages of the run log that could not be kept, within the last hour, by reason',
        labelNames: ['reason'],
        valuesOf: (counts) => Object.entries(counts).map(([reason, value]) => ({ labels: { reason }, value })),
      },
    },
  });
  registerLag({ registry, bus, secondsBehind: () => Math.max(0, nowMs() - latestAtMs) / 1_000 });
  return {
    onSpans({ stored: added, refused }) {
      spans.inc({ outcome: 'stored' }, added);
      spans.inc({ outcome: 'refused' }, refused);
    },
    onStored(records) {
      for (const record of records) {
        stored.inc({ kind: record.kind });
        const atMs = Date.parse(record.at);
        delay.observe(Math.max(0, nowMs() - atMs) / 1_000);
        latestAtMs = atMs;
        if (record.fact?.kind === 'thought') onThought(record.fact);
        if (record.fact?.kind === 'ended') onEnded(record.fact);
      }
    },
  };
}

function inferenceMetrics(registers: Registry[]): (thought: Thought) => void {
  const labelNames = ['purpose', 'outcome'] as const;
  const duration = new Histogram({
    name: 'gen_ai_client_inference_duration_seconds',
    help: 'Duration of model calls',
    labelNames,
    buckets,
    registers,
  });
  const firstChunk = new Histogram({
    name: 'gen_ai_client_inference_time_to_first_chunk_seconds',
    help: 'Time to the first piece of a reply',
    labelNames: ['purpose'],
    buckets,
    registers,
  });
  const usage = (name: string, help: string) =>
    new Counter({ name: `gen_ai_client_inference_usage_${name}_total`, help, labelNames: ['purpose'], registers });
  const input = usage('input_tokens', 'Input tokens, cached ones included');
  const output = usage('output_tokens', 'Output tokens, reasoning included');
  const cacheRead = usage('cache_read_input_tokens', 'The part of the input that was read from a cache');
  const cacheWrite = usage('cache_write_input_tokens', 'The part of the input that was written to a cache');
  const reasoning = usage('reasoning_output_tokens', 'The part of the output that was reasoning');
  const cost = new Counter({
    name: 'pawl_thoughts_usd_total',
    help: 'Cost of the thoughts that were stored, by purpose; to be compared with the books of the gateway',
    labelNames: ['purpose'],
    registers,
  });
  // From zero on, so that the first one of a kind is seen as an increase.
  for (const purpose of purposes) cost.inc({ purpose }, 0);
  return ({ purpose, outcome, durationMs, firstTokenMs, usage: used, costNanoUsd }) => {
    cost.inc({ purpose }, Number(costNanoUsd) / 1e9);
    duration.observe({ purpose, outcome }, durationMs / 1_000);
    if (firstTokenMs !== undefined) firstChunk.observe({ purpose }, firstTokenMs / 1_000);
    input.inc({ purpose }, used.inputTokens);
    output.inc({ purpose }, used.outputTokens);
    cacheRead.inc({ purpose }, used.cachedInputTokens);
    cacheWrite.inc({ purpose }, used.cacheWriteTokens);
    reasoning.inc({ purpose }, used.reasoningTokens);
  };
}

function runMetrics(registers: Registry[]): (ended: Ended) => void {
  const duration = new Histogram({
    name: 'gen_ai_invoke_agent_duration_seconds',
    help: 'Duration of runs, waiting included',
    buckets: runBuckets,
    registers,
  });
  const steps = new Histogram({
    name: 'gen_ai_invoke_agent_inference_calls',
    help: 'Steps of a run',
    buckets: countBuckets,
    registers,
  });
  const toolCalls = new Histogram({
    name: 'gen_ai_invoke_agent_tool_calls',
    help: 'Tool calls of a run',
    buckets: countBuckets,
    registers,
  });
  const runs = new Counter({
    name: 'pawl_runs_ended_total',
    help: 'Runs that ended, by stop reason',
    labelNames: ['stop_reason'],
    registers,
  });
  for (const reason of stopReasons) runs.inc({ stop_reason: reason }, 0);
  return (ended) => {
    duration.observe(ended.durationMs / 1_000);
    steps.observe(ended.steps);
    toolCalls.observe(ended.toolCalls);
    runs.inc({ stop_reason: ended.stopReason });
  };
}

function registerLag(options: { registry: Registry; bus: Bus; secondsBehind(): number }): void {
  const { registry, bus, secondsBehind } = options;
  registerGauges({
    registry,
    async look() {
      const info = await bus.jsm.consumers.info(streams.runs, consumerName).catch(() => undefined);
      return info ? info.num_pending + info.num_ack_pending : -1;
    },
    gauges: {
      pawl_traces_lag_facts: {
        help: 'Facts in the run log that are not in Postgres yet; -1 when nobody can tell',
        valuesOf: (behind) => [{ value: behind }],
      },
      pawl_traces_lag_seconds: {
        help: 'Age of the latest stored fact while others wait; 0 when none does',
        valuesOf: (behind) => [{ value: behind === 0 ? 0 : secondsBehind() }],
      },
    },
  });
}
