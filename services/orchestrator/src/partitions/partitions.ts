/** The partitions that this replica decides for: taken and given back with their leases, ticked four times a second. */
import { randomBytes } from 'node:crypto';
import { holdLeases, type Bus, type Definitions, type Leases } from '@pawl/bus';
import { partitionOf } from '@pawl/contracts';
import type { Log, Part } from '@pawl/service';
import type { ChangedAtMs } from '../run/changed-tools.ts';
import type { RunState } from '../run/state.ts';
import { openPartition, type Partition } from './partition.ts';
import type { Perform } from './perform.ts';

const tickEveryMs = 250;

export type Partitions = Part & {
  /** The state of a run that this replica decides for, or undefined. */
  find(runId: string): RunState | undefined;
  /** Whether this replica knows all open runs of the run's partition. */
  knows(runId: string): boolean;
  /** Drives all runs, since something has changed that is in no log. */
  drive(): void;
  /** How many partitions this replica decides for. */
  owned(): number;
  /** All runs of those that have not ended. */
  states(): RunState[];
};

export function createPartitions(options: {
  bus: Bus;
  definitions: Definitions;
  perform: Perform;
  changedAtMs: ChangedAtMs;
  log: Log;
  onChange(state: RunState): void;
  onFound(state: RunState): void;
}): Partitions {
  const { bus, log } = options;
  const open = new Map<number, Partition>();
  const closing = new Set<Promise<void>>();
  let leases: Leases | undefined;
  let ticking: NodeJS.Timeout | undefined;
  const onError = (error: unknown, about: object) => log.warn({ err: error, ...about }, 'will be tried again');

  const onAcquired = (partition: number) => {
    const isOwned = () => leases?.isHeld(partition) ?? true;
    const onRewound = () => {
      onLost(partition);
      onAcquired(partition);
    };
    open.set(partition, openPartition({ ...options, partition, isOwned, onRewound, onError }));
  };
  const onLost = (partition: number) => {
    const lost = open.get(partition);
    open.delete(partition);
    if (!lost) return;
    const done = lost.close().finally(() => closing.delete(done));
    closing.add(done);
  };

  const partitionFor = (runId: string) => open.get(partitionOf(runId, bus.partitions));
  return {
    name: 'partitions',
    async start() {
      const replica = randomBytes(8).toString('hex');
      leases = await holdLeases(bus, { replica, onAcquired, onLost, onError: (error) => onError(error, {}) });
      ticking = setInterval(() => open.forEach((partition) => partition.tick()), tickEveryMs);
      log.info({ replica, partitions: leases.owned() }, 'deciding');
    },
    async stop() {
      clearInterval(ticking);
      await leases?.stop();
      await Promise.all(closing);
    },
    find: (runId) => partitionFor(runId)?.find(runId),
    knows: (runId) => partitionFor(runId)?.isCaughtUp() ?? false,
    drive: () => open.forEach((partition) => partition.drive()),
    owned: () => open.size,
    states: () => [...open.values()].flatMap((partition) => partition.states()),
  };
}
