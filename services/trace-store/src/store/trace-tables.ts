/** What every writer of traces needs: the database, its tables by class and week, and what apps want kept. */
import type { Database } from '@pawl/db';
import type { Policy } from '../retention/policy.ts';
import { createPartitions, type Partitions } from './partitions.ts';

export type TraceTables = {
  database: Database;
  partitions: Partitions;
  policy: Policy;
  nowMs(): number;
};

export function createTraceTables(options: { database: Database; policy: Policy; nowMs?: () => number }): TraceTables {
  const { database, policy, nowMs = Date.now } = options;
  return { database, policy, nowMs, partitions: createPartitions(database) };
}
