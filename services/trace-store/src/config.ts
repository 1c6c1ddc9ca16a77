/** What trace-store reads from its environment; nothing else does, but for telemetry, which comes before everything. */
import process from 'node:process';
import { z } from 'zod';
import { baseConfigShape, integerVariable, readConfig } from '@pawl/service';

const configSchema = z.object({
  ...baseConfigShape,
  PAWL_PORT: integerVariable({ min: 0, max: 65_535 }).default(7304),
  /** Facts that are written in one transaction at the most. */
  PAWL_TRACE_BATCH_MAX: integerVariable({ min: 1, max: 5_000 }).default(250),
  /** How long a fact waits for others to be written with, in milliseconds. */
  PAWL_TRACE_LINGER_MS: integerVariable({ min: 0, max: 10_000 }).default(20),
  /** Serve on for this long after SIGTERM, so that load balancers notice. */
  PAWL_DRAIN_MS: integerVariable({ min: 0, max: 600_000 }).default(0),
});
export type Config = z.infer<typeof configSchema>;

const migrateConfigSchema = configSchema.pick({ PAWL_DATABASE_URL: true });

/** Reads the configuration; throws `ConfigError` with every mistake. */
export function loadConfig(environment: Record<string, string | undefined> = process.env): Config {
  return readConfig(configSchema, environment);
}

/** What a migration needs: the database and no more. Throws `ConfigError`. */
export function loadMigrateConfig(
  environment: Record<string, string | undefined> = process.env,
): z.infer<typeof migrateConfigSchema> {
  return readConfig(migrateConfigSchema, environment);
}
