/**
 * Metrics of money and of model endpoints. Amounts are told as floating-point USD, for people to look at: nothing is decided
 * by them. What is in the database is told the same by every replica; what is counted, by the replica that did it.
 */
import { purposes, streams } from '@pawl/contracts';
import type { AppSource, Bus, Registry as Declared } from '@pawl/bus';
import type { Queryable } from '@pawl/db';
import { registerGauges, registerQueueGauges } from '@pawl/service';
import { Counter, type Registry } from 'prom-client';
import type { ExchangeRates } from './price/exchange-rates.ts';
import type { BudgetStore, Settlement } from './budget/store.ts';
import { watchedBudgets } from './budget/threshold-watch.ts';
import { storable } from './ledger/storable.ts';
import type { EndpointHealth } from './health/endpoint-health.ts';

const nanoPerUsd = 1e9;
const percents = [50, 80, 100] as const;
/** Names of providers come from routes; beyond so many they are told as one. */
const providersMax = 20;

export type GatewayMetricsOptions = {
  registry: Registry;
  bus: Bus;
  database: Queryable;
  apps: AppSource;
  declared: Declared;
  rates: ExchangeRates;
};

export type GatewayMetrics = {
  /** The same store, whose charges are counted. */
  countCharges(store: BudgetStore): BudgetStore;
  /** The same health, whose news is counted. */
  countAttempts(health: EndpointHealth): EndpointHealth;
};

export function createGatewayMetrics(options: GatewayMetricsOptions): GatewayMetrics {
  registerQueueGauges({ ...options, kind: 'think' });
  registerMoneyGauges(options);
  registerBudgetGauges(options);
  const registers = [options.registry];
  const charged = new Counter({
    name: 'pawl_ledger_usd_total',
    help: 'Money in lines of the books, by purpose; reply: of calls that were answered with, attempt: of others',
    labelNames: ['purpose', 'line'],
    registers,
  });
  // From zero on, so that the first one of a kind is seen as an increase.
  for (const purpose of [...purposes, 'chat', 'embed']) {
    for (const line of ['reply', 'attempt']) charged.inc({ purpose, line }, 0);
  }
  const attempts = new Counter({
    name: 'pawl_model_attempts_total',
    help: 'Calls to model endpoints, by provider and outcome',
    labelNames: ['provider', 'outcome'],
    registers,
  });
  const countCharge = ({ entry }: Settlement) => {
    // What a correction takes back has been counted; a counter never goes down.
    if (!entry || entry.stop_kind === 'correction') return;
    const labels = { purpose: entry.purpose, line: entry.is_final ? 'reply' : 'attempt' };
    charged.inc(labels, Number(entry.cost_nano_usd) / nanoPerUsd);
  };
  const providerOf = createBoundedNames(providersMax);
  return {
    countCharges: (store) => ({
      ...store,
      async charge(settlement) {
        const stored = await store.charge(settlement);
        if (stored === undefined) countCharge(settlement);
        return stored;
      },
    }),
    countAttempts: (health) => ({
      ...health,
      onSuccess(candidate, firstTokenMs) {
        attempts.inc({ provider: providerOf(candidate.provider), outcome: 'answered' });
        health.onSuccess(candidate, firstTokenMs);
      },
      onFailure(candidate, retryAfterMs) {
        attempts.inc({ provider: providerOf(candidate.provider), outcome: 'failed' });
        health.onFailure(candidate, retryAfterMs);
      },
    }),
  };
}

function registerMoneyGauges({ registry, bus, database }: GatewayMetricsOptions): void {
  registerGauges({
    registry,
    look: () =>
      database.query<{ calls: number; ahead: number; slices: number }>(
        `select (select count(*)::integer from gateway.holds where owner <> 'ahead') as calls,
                (select count(*)::integer from gateway.holds where owner = 'ahead') as ahead,
                (select count(*)::integer from gateway.slices) as slices`,
      ),
    gauges: {
      pawl_holds_open: {
        help: 'Money that is set aside: for a call under way, for the likely next one of a run, or as a slice that a replica has drawn ahead',
        labelNames: ['for'],
        valuesOf: ([row]) => [
          { labels: { for: 'call' }, value: row?.calls ?? 0 },
          { labels: { for: 'ahead' }, value: row?.ahead ?? 0 },
          { labels: { for: 'slice' }, value: row?.slices ?? 0 },
        ],
      },
    },
  });
  registerGauges({
    registry,
    look: () => bus.jsm.streams.info(streams.charges),
    gauges: {
      pawl_charges_waiting: {
        help: 'Charges that wait in JetStream until Postgres takes them',
        valuesOf: ({ state }) => [{ value: state.messages }],
      },
    },
  });
}

type Used = { used: number };

function registerBudgetGauges({ registry, database, apps, declared, rates }: GatewayMetricsOptions): void {
  registerGauges({
    registry,
    async look() {
      const levels = watchedBudgets({ apps, registry: declared, rates }).map(({ level }) => level);
      return await database.query<Used>(
        `select (c.spent / w.spend_limit)::double precision as used
           from unnest($1::text[], $2::timestamptz[], $3::numeric[]) as w(key, window_from, spend_limit)
           join gateway.counters c on c.key = w.key and c.window_from = w.window_from
           where w.spend_limit > 0`,
        [
          levels.map(({ key }) => storable(key)),
          levels.map(({ window }) => new Date(window.fromMs)),
          levels.map(({ limit }) => limit.toString()),
        ],
      );
    },
    gauges: {
      pawl_budgets_reached: {
        help: 'Budgets whose current window has spent so many percent of its limit',
        labelNames: ['percent'],
        valuesOf: (budgets) =>
          percents.map((percent) => ({
            labels: { percent: String(percent) },
            value: budgets.filter(({ used }) => used * 100 >= percent).length,
          })),
      },
      pawl_budget_left_ratio: {
        help: 'What is left of the budget that has the least left, as a part of its limit',
        valuesOf: (budgets) => [{ value: 1 - Math.max(0, ...budgets.map(({ used }) => used)) }],
      },
    },
  });
}

/** Names as they are, until there are too many of them. */
function createBoundedNames(max: number): (name: string) => string {
  const known = new Set<string>();
  return (name) => {
    if (known.size < max) known.add(name);
    return known.has(name) ? name : 'other';
  };
}
