/** Metrics of calls: how long they took and how they ended. Labels have few values, never names that apps choose. */
import type { Bus } from '@pawl/bus';
import { observationStatuses, type ObservationStatus } from '@pawl/contracts';
import { registerQueueGauges } from '@pawl/service';
import { Counter, Histogram, type Registry } from 'prom-client';

export type CallMetrics = { observe(call: { status: ObservationStatus; durationMs: number }): void };

/** Seconds: 0.01·2^n up to 81.92, as the OpenTelemetry conventions advise for tools. */
const buckets = Array.from({ length: 14 }, (_unused, power) => 0.01 * 2 ** power);

export function createCallMetrics(registry: Registry, bus: Bus): CallMetrics {
  registerQueueGauges({ registry, bus, kind: 'act' });
  const duration = new Histogram({
    name: 'gen_ai_execute_tool_duration_seconds',
    help: 'Time from the start of a tool call to its report',
    buckets,
    registers: [registry],
  });
  const observations = new Counter({
    name: 'pawl_observations_total',
    help: 'Reported observations by status',
    labelNames: ['status'],
    registers: [registry],
  });
  // From zero on, so that the first one of a kind is seen as an increase.
  for (const status of observationStatuses) observations.inc({ status }, 0);
  return {
    observe({ status, durationMs }) {
      duration.observe(durationMs / 1_000);
      observations.inc({ status });
    },
  };
}
