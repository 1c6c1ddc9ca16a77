/** Gauges whose values are looked up when they are asked for, those that belong together in one look. */
import { readQueueLengths, type Bus } from '@pawl/bus';
import type { Work } from '@pawl/contracts';
import { Gauge, type Registry } from 'prom-client';

/** One value of a gauge. Labels have few values, never names that apps choose. */
export type GaugeValue = { labels?: Record<string, string>; value: number };

export type Gauges<Seen> = {
  registry: Registry;
  /** Asked once for all gauges. While it fails there are no values, so that nobody takes old ones for new. */
  look(): Seen | Promise<Seen>;
  /** By name. */
  gauges: Record<string, { help: string; labelNames?: string[]; valuesOf(seen: Seen): GaugeValue[] }>;
};

/** Registers them. */
export function registerGauges<Seen>({ registry, look, gauges }: Gauges<Seen>): void {
  let looking: Promise<Seen | undefined> | undefined;
  const lookOnce = () =>
    (looking ??= Promise.resolve()
      .then(look)
      .catch(() => undefined)
      .finally(() => (looking = undefined)));
  for (const [name, { help, labelNames = [], valuesOf }] of Object.entries(gauges)) {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      async collect() {
        const seen = await lookOnce();
        gauge.reset();
        // A gauge without labels has a value from its beginning.
        if (labelNames.length === 0) gauge.remove();
        if (seen !== undefined) for (const { labels = {}, value } of valuesOf(seen)) gauge.set(labels, value);
      },
    });
  }
}

/** Adds how long the queues of a kind of work are. Every replica tells the same: take the largest, not the sum. */
export function registerQueueGauges({
  registry,
  bus,
  kind,
}: {
  registry: Registry;
  bus: Bus;
  kind: Work['kind'];
}): void {
  const labelNames = ['work', 'queue'];
  const labelsOf = (queue: string) => ({ labels: { work: kind, queue } });
  registerGauges({
    registry,
    look: () => readQueueLengths(bus, kind, { nowMs: Date.now() }),
    gauges: {
      pawl_queue_waiting: {
        help: 'Pieces of work that nobody has taken yet, by lane or pool',
        labelNames,
        valuesOf: (lengths) => lengths.map(({ queue, waiting }) => ({ ...labelsOf(queue), value: waiting })),
      },
      pawl_queue_under_way: {
        help: 'Pieces of work that somebody has taken, by lane or pool',
        labelNames,
        valuesOf: (lengths) => lengths.map(({ queue, underWay }) => ({ ...labelsOf(queue), value: underWay })),
      },
      pawl_queue_oldest_seconds: {
        help: 'Age of the oldest piece of work that nobody has taken; 0 when there is none',
        labelNames,
        valuesOf: (lengths) =>
          lengths.map(({ queue, oldestWaitingMs }) => ({ ...labelsOf(queue), value: oldestWaitingMs / 1_000 })),
      },
    },
  });
}
