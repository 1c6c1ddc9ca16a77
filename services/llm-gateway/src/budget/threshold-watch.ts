/**
 * Tells when a budget's window reaches 50, 80 and 100 % of its limit: each once, by whichever replica sees it first, on NATS as
 * `pawl.budget.<app>.<name>`. Beside the calls, not in their way.
 */
import type { Bus, Registry } from '@pawl/bus';
import { orgApp, subjects, UnavailableError, type Budget } from '@pawl/contracts';
import type { Queryable } from '@pawl/db';
import type { AppSource } from '@pawl/bus';
import type { Log, Part } from '@pawl/service';
import { storable } from '../ledger/storable.ts';
import { dateBudget } from './budget-source.ts';
import type { ExchangeRates } from '../price/exchange-rates.ts';
import { levelOf, type Level } from './levels.ts';

export const thresholdPercents = [50, 80, 100] as const;
const everyMs = 2_000;

/** What is published, as JSON. Amounts in the unit of the budget, as whole numbers in text. */
export type ThresholdEvent = {
  app: string;
  budget: string;
  percent: number;
  unit: Level['unit'];
  /** Of money in another currency than USD: then amounts are nano units of it. */
  currency?: string;
  limit: string;
  spent: string;
  windowFrom: string;
};

export type ThresholdWatchOptions = {
  bus: Bus;
  apps: AppSource;
  registry: Registry;
  rates: ExchangeRates;
  database: Queryable;
  log: Log;
};

export function createThresholdWatch(options: ThresholdWatchOptions): Part {
  const { log } = options;
  let timer: NodeJS.Timeout | undefined;
  let underWay: Promise<void> = Promise.resolve();
  const schedule = () => {
    timer = setTimeout(() => {
      underWay = look(options)
        .catch((error: unknown) => {
          if (!(error instanceof UnavailableError)) log.error({ err: error }, 'budgets could not be looked at');
        })
        .finally(() => {
          if (timer) schedule();
        });
    }, everyMs);
  };
  return {
    name: 'threshold-watch',
    start: async () => schedule(),
    async stop() {
      clearTimeout(timer);
      timer = undefined;
      await underWay;
    },
  };
}

/** All budgets but those that only keep calls from coming too fast, each with the level of its current window. */
export function watchedBudgets({
  apps,
  registry,
  rates,
}: Pick<ThresholdWatchOptions, 'apps' | 'registry' | 'rates'>): { budget: Budget; level: Level }[] {
  const budgets = [orgApp, ...apps.apps()].flatMap((app) => registry.list('Budget', app).map(({ object }) => object));
  return budgets.flatMap((budget) => {
    const level = safeLevelOf(budget, rates);
    return level && level.unit !== 'concurrent' && budget.spec.window !== 'minute' ? [{ budget, level }] : [];
  });
}

async function look(options: ThresholdWatchOptions): Promise<void> {
  const { bus, database } = options;
  const watched = watchedBudgets(options);
  if (watched.length === 0) return;
  const reached = await claimReached(
    database,
    watched.map(({ level }) => level),
  );
  for (const { position, percent, spent } of reached) {
    const one = watched[position];
    if (!one) continue;
    const { app, name } = one.budget.metadata;
    const { unit, rate, limit, window } = one.level;
    const event: ThresholdEvent = {
      app,
      budget: name,
      percent,
      unit,
      ...(rate ? { currency: rate.currency } : {}),
      limit: limit.toString(),
      spent,
      windowFrom: new Date(window.fromMs).toISOString(),
    };
    bus.connection.publish(subjects.budgetReached(app, name), JSON.stringify(event));
  }
}

/** Records every threshold that is reached and was not before, and gives those. */
async function claimReached(
  database: Queryable,
  levels: readonly Level[],
): Promise<{ position: number; percent: number; spent: string }[]> {
  return await database.query(
    `with watched as (
       select * from unnest($1::text[], $2::timestamptz[], $3::numeric[]) with ordinality as w(key, window_from, spend_limit, place)
     ), reached as (
       select w.key, w.window_from, p.percent, c.spent, w.place
         from watched w
         join gateway.counters c on c.key = w.key and c.window_from = w.window_from
         cross join unnest($4::integer[]) as p(percent)
         where c.spent * 100 >= w.spend_limit * p.percent and c.spent > 0
     ), told as (
       insert into gateway.thresholds (key, window_from, percent)
         select key, window_from, percent from reached order by 1, 2, 3
         on conflict do nothing returning key, window_from, percent
     )
     select (r.place - 1)::integer as position, r.percent, r.spent::text as spent
       from reached r join told t using (key, window_from, percent)
       order by r.place, r.percent`,
    [
      levels.map(({ key }) => storable(key)),
      levels.map(({ window }) => new Date(window.fromMs)),
      levels.map(({ limit }) => limit.toString()),
      [...thresholdPercents],
    ],
  );
}

/** A budget that could never be declared over HTTP has no level. */
function safeLevelOf(budget: Budget, rates: ExchangeRates): Level | undefined {
  try {
    return levelOf(dateBudget(budget, Date.now(), rates));
  } catch {
    return undefined;
  }
}
