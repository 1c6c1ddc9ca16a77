/** Streams, subjects and buckets: where everything is on NATS. */
import { hash } from 'node:crypto';
import type { Work } from './work.ts';

export const streams = {
  /** The log of all runs. */
  runs: 'RUNS',
  think: 'THINK',
  act: 'ACT',
  /** Charges that wait for Postgres. */
  charges: 'GATEWAY_CHARGES',
} as const;

export const streamSubjects = {
  RUNS: 'pawl.run.>',
  THINK: 'pawl.think.>',
  ACT: 'pawl.act.>',
  GATEWAY_CHARGES: 'pawl.gateway.charges',
} as const;

/** Queue classes of think work. */
export const lanes = ['interactive', 'batch'] as const;

export const buckets = {
  /** Declared objects by app, kind and name. */
  registry: 'pawl_registry',
  /** Definitions by content hash. */
  definitions: 'pawl_definitions',
  /** Keys of apps by the hash of the key. */
  keys: 'pawl_keys',
  /** Who owns which partition. Entries live for a few seconds. */
  leases: 'pawl_leases',
  /** What has to be the same for every replica, such as the number of partitions. */
  settings: 'pawl_settings',
  /** Object store: message bodies above the payload limit. */
  claims: 'pawl_claims',
  /** Object store: whole results of tools whose observation was cut. */
  results: 'pawl_results',
} as const;

/** The stream behind a bucket of keys and values. */
export const keyValueStream = (bucket: string) => `KV_${bucket}`;
/** The stream behind an object store. */
export const objectStream = (bucket: string) => `OBJ_${bucket}`;

/** Every stream that Pawl stands on. */
export const allStreams: readonly string[] = [
  ...Object.values(streams),
  ...[buckets.registry, buckets.definitions, buckets.keys, buckets.leases, buckets.settings].map(keyValueStream),
  ...[buckets.claims, buckets.results].map(objectStream),
];

/** The partition of a run: the same everywhere, for a given number of partitions. */
export function partitionOf(runId: string, partitions: number): number {
  return Number.parseInt(hash('sha256', runId).slice(0, 8), 16) % partitions;
}

/** Where the log of a run is. */
export type RunAddress = { partition: number; app: string; runId: string };

export const subjects = {
  fact: (run: RunAddress, slot: string) => `pawl.run.${run.partition}.${run.app}.${run.runId}.${slot}`,
  factsOfRun: (app: string, runId: string) => `pawl.run.*.${app}.${runId}.>`,
  factsOfPartition: (partition: number) => `pawl.run.${partition}.>`,
  work: (work: Work) =>
    work.kind === 'think'
      ? `pawl.think.${work.lane}.${work.app}.${work.runId}.${work.m}`
      : `pawl.act.${work.pool}.${work.app}.${work.runId}.${work.m}.${work.i}`,
  thinkOfApp: (lane: string, app: string) => `pawl.think.${lane}.${app}.>`,
  actOfApp: (pool: string, app: string) => `pawl.act.${pool}.${app}.>`,
  thinkOfRun: (app: string, runId: string) => `pawl.think.*.${app}.${runId}.>`,
  actOfRun: (app: string, runId: string) => `pawl.act.*.${app}.${runId}.>`,
  delta: (app: string, runId: string, m: number) => `pawl.delta.${app}.${runId}.${m}`,
  deltasOfRun: (app: string, runId: string) => `pawl.delta.${app}.${runId}.*`,
  /** Hints among the replicas of the gateway. */
  gatewayHint: (kind: 'health' | 'slices' | 'ahead' | '*') => `pawl.gateway.${kind}`,
  /** Told when the spending of a budget reaches a threshold. */
  budgetReached: (app: string, name: string) => `pawl.budget.${app}.${name}`,
  /** Told when records of a run were stored. */
  recordsStored: (app: string, runId: string) => `pawl.stored.${app}.${runId}`,
  /** Where a service is asked to forget what it keeps of runs or of a user, and where it says that it has. */
  forget: (service: string) => `pawl.forget.${service}`,
  forgotten: (service: string) => `pawl.forgotten.${service}`,
  /** Where workers of a subject hear that a call is not wanted any more. */
  toolCancelled: (subject: string) => `pawl.toolcancel.${subject}`,
};

/** The parts of a fact's subject, or undefined when it is none. */
export function parseFactSubject(subject: string): (RunAddress & { slot: string }) | undefined {
  const [pawl, run, partition, app, runId, ...slot] = subject.split('.');
  if (pawl !== 'pawl' || run !== 'run' || !/^\d+$/.test(partition ?? '') || !app || !runId) return undefined;
  if (slot.length === 0 || slot.includes('')) return undefined;
  return { partition: Number(partition), app, runId, slot: slot.join('.') };
}
