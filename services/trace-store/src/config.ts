/** The configuration of trace-store; nothing else reads the environment. */
import process from 'node:process';
import { z } from 'zod';
import { baseConfigShape, ConfigError, integerVariable, readConfig } from '@pawl/service';

export const configSchema = z.object({
  ...baseConfigShape,
  PAWL_PORT: integerVariable({ min: 0, max: 65_535 }).default(7304),
  /** Facts that are written in one transaction at the most. */
  PAWL_TRACE_BATCH_MAX: integerVariable({ min: 1, max: 5_000 }).default(250),
  /** How long a fact waits for others to be written with, in milliseconds. */
  PAWL_TRACE_LINGER_MS: integerVariable({ min: 0, max: 10_000 }).default(20),
  /** How long to serve on after SIGTERM, in milliseconds. */
  PAWL_DRAIN_MS: integerVariable({ min: 0, max: 60_000 }).default(0),
});
export type Config = z.infer<typeof configSchema>;

const migrateConfigSchema = configSchema.pick({ PAWL_DATABASE_URL: true, PAWL_LOG_LEVEL: true });

/** The configuration of this process. When it has mistakes, prints all of them and ends the process. */
export function loadConfig(): Config {
  return load(configSchema);
}

/** What a migration needs: the database and no more. */
export function loadMigrateConfig(): z.infer<typeof migrateConfigSchema> {
  return load(migrateConfigSchema);
}

function load<T>(schema: z.ZodType<T>): T {
  try {
    return readConfig(schema, process.env);
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
