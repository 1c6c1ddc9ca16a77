/** M8: any order and repetition of holds, completions, deaths and sweeps comes to one charge, and leaves nothing held. */
import { randomUUID } from 'node:crypto';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { connectDatabase, migrate, type Database } from '@pawl/db';
import { useTestServers } from '@pawl/testkit';
import { ledgerEntryOf } from '../ledger/entry.ts';
import { schema } from '../schema.ts';
import { thinkWork } from '../testing/gateway-bench.ts';
import { requestOfWork } from '../think/request-of-work.ts';
import type { Level } from './levels.ts';
import { createBudgetStore } from './store.ts';

const servers = useTestServers();
let database: Database;

beforeAll(async () => {
  await migrate({ url: servers.databaseUrl, ...schema });
  database = connectDatabase({ url: servers.databaseUrl, applicationName: 'test', poolMax: 10 });
});
afterAll(() => database.close());

const rate = { aboveInputTokens: -1, input: 1n, cachedInput: 1n, cacheWrite: 1n, output: 1n, reasoning: 1n };
const owner = fc.constantFrom('a', 'b', 'c');
const step = fc.oneof(
  fc.record({ kind: fc.constant('hold' as const), owner }),
  fc.record({ kind: fc.constant('hold-ahead' as const), owner }),
  fc.record({ kind: fc.constant('complete' as const), owner, cost: fc.bigInt({ min: 0n, max: 50n }) }),
  fc.record({ kind: fc.constant('abandon' as const), owner }),
  fc.record({ kind: fc.constant('lapse' as const), owner }),
);

it('is charged once, whatever happens in whatever order', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 12 }), fc.boolean(), async (steps, isAtOnce) => {
      const work = thinkWork();
      const level: Level = {
        kind: 'budget',
        key: `budget/any/${work.runId}`,
        title: 'any',
        unit: 'nano-usd',
        limit: 1_000n,
        keptBack: 0n,
        window: { fromMs: 0, toMs: null },
        isRate: false,
      };
      const entryOf = (costNanoUsd: bigint, stopKind: 'complete' | 'abandoned' | 'lost') =>
        ledgerEntryOf({
          callId: randomUUID(),
          request: requestOfWork(work),
          endpoint: { provider: 'p', model: 'm' },
          price: { tiers: [rate], perRequest: 0n, source: 'test' },
          usage: { inputTokens: 1, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 1, reasoningTokens: 0 },
          costNanoUsd,
          basis: 'measured',
          stopKind,
          attempts: 1,
          traceId: '0'.repeat(32),
          at: new Date().toISOString(),
          isFinal: stopKind === 'complete',
        });
      const take = async (one: (typeof steps)[number]) => {
        const store = createBudgetStore(database, `${work.runId}-${one.owner}`);
        const charge = { call: work, levels: [level] };
        switch (one.kind) {
          case 'hold':
            await store.hold(work, { levels: [level], needs: [50n], line: entryOf(0n, 'lost') });
            break;
          case 'hold-ahead':
            await store.holdAhead(work, { levels: [level], needs: [60n] });
            break;
          case 'complete':
            await store.charge({ ...charge, taken: [one.cost], entry: entryOf(one.cost, 'complete'), thought: '{}' });
            break;
          case 'abandon':
            await store.charge({ ...charge, taken: [1n], entry: entryOf(1n, 'abandoned'), thought: undefined });
            break;
          case 'lapse':
            await database.query('update gateway.holds set expires_at = now() where run_id = $1', [work.runId]);
            await store.sweepHolds();
        }
      };
      if (isAtOnce) await Promise.all(steps.map(take));
      else for (const one of steps) await take(one);
      await take({ kind: 'complete', owner: 'a', cost: 7n });
      await take({ kind: 'lapse', owner: 'a' });

      const lines = await database.query<{ stop_kind: string; cost: string }>(
        'select stop_kind, cost_nano_usd as cost from gateway.ledger where run_id = $1',
        [work.runId],
      );
      const final = lines.filter(({ stop_kind }) => stop_kind === 'complete');
      const sum = lines.reduce((total, { cost }) => total + BigInt(cost), 0n);
      const store = createBudgetStore(database, 'reader');
      expect(final).toHaveLength(1);
      expect(await store.stateOf(level)).toEqual({ held: 0n, spent: sum });
    }),
    { numRuns: 40 },
  );
});
