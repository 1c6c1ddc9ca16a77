/** What the gateway reads from its environment; nothing else does. */
import { z } from 'zod';
import { exchangeRatesSchema } from './price/exchange-rates.ts';
import { baseConfigShape, integerVariable, readConfig } from '@pawl/service';

const schema = z.object({
  ...baseConfigShape,
  PAWL_PORT: integerVariable({ min: 0, max: 65_535 }).default(7303),
  /** Model calls under way at once. */
  PAWL_THINK_CONCURRENCY: integerVariable({ min: 1, max: 10_000 }).default(200),
  /** Connections to Postgres at the most. */
  PAWL_DATABASE_POOL: integerVariable({ min: 1, max: 500 }).default(10),
  /** Where runs are started for clients that name an agent as their model. Absent: no agents are offered. */
  PAWL_ORCHESTRATOR_URL: z.url({ protocol: /^https?$/ }).optional(),
  /** For how many calls over HTTP each budget is drawn ahead, beside those under way. 0: every call asks Postgres first. */
  PAWL_SLICE_CALLS: integerVariable({ min: 0, max: 1_000 }).default(8),
  /** Days that replies are kept: as long, the same idempotency key gives the same answer. */
  PAWL_REPLIES_KEPT_DAYS: integerVariable({ min: 1, max: 3_650 }).default(7),
  /** How often what is too old is looked for, in ms. */
  PAWL_FORGETTING_MS: integerVariable({ min: 100, max: 3_600_000 }).default(60_000),
  /**
   * For prices and budgets in other currencies: USD for one unit, and the day (UTC) from which that holds, such as
   * `EUR=1.08@2026-11-01,CNY=0.14@2026-11-01`. Of several for a currency the latest that is not in the future counts.
   */
  PAWL_EXCHANGE_RATES: exchangeRatesSchema.prefault(''),
  /** Serve on for this long after SIGTERM, so that load balancers notice. */
  PAWL_DRAIN_MS: integerVariable({ min: 0, max: 600_000 }).default(0),
  /** How long model calls under way may go on once the service stops: those over HTTP, and after them those of runs. */
  PAWL_THINK_DRAIN_MS: integerVariable({ min: 0, max: 3_600_000 }).default(25_000),
});

export type Config = z.infer<typeof schema> & {
  /** Variables that begin with `PAWL_SECRET_`: the values of `${secret:NAME}`. */
  secretVariables: Readonly<Record<string, string | undefined>>;
};

/** Names of the variables that are read. */
export const variableNames: readonly string[] = Object.keys(schema.shape);

/** Reads the configuration; throws `ConfigError` with every mistake. */
export function loadConfig(environment: Record<string, string | undefined> = process.env): Config {
  const secretVariables = Object.fromEntries(
    Object.entries(environment).filter(([name]) => name.startsWith('PAWL_SECRET_')),
  );
  return { ...readConfig(schema, environment), secretVariables };
}
