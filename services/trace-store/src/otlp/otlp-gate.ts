/** The memory that requests with spans may take at once, over HTTP and gRPC together, and what is told of it. */
import { createBodyGate, type BodyGate } from '@pawl/service';
import { Counter, Gauge, type Registry } from 'prom-client';

/** Made once: its metrics have their names. `bytesMax` is an estimate of memory, see `count-parts.ts`. */
export function createOtlpGate({ registry, bytesMax }: { registry: Registry; bytesMax: number }): BodyGate {
  const crowdedOut = new Counter({
    name: 'pawl_otlp_crowded_out_total',
    help: 'Requests with spans of other agents that found no room in memory',
    registers: [registry],
  });
  const gate = createBodyGate({ bytesMax, onRefused: () => crowdedOut.inc() });
  const bytes: Gauge = new Gauge({
    name: 'pawl_otlp_memory_bytes',
    help: 'Memory that requests with spans of other agents take now, by estimate',
    registers: [registry],
    collect: () => bytes.set(gate.bytesInside()),
  });
  return gate;
}
