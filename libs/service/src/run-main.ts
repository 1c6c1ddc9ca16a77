/** The two programs that every service has: the service itself, and its migrations. Mistakes in the configuration are told in sentences. */
import { migrate } from '@pawl/db';
import type { Telemetry } from '@pawl/telemetry';
import { ConfigError, migrationConfig } from './config.ts';
import { createLog, type Log } from './log.ts';
import { runService, type Part } from './run-service.ts';

export type Main<C> = {
  /** The service's name, as its log shows it. */
  name: string;
  telemetry: Telemetry;
  loadConfig(): C;
  create(config: C, log: Log): Promise<{ parts: Part[] }>;
};

type MainConfig = { PAWL_LOG_LEVEL: Parameters<typeof createLog>[1]; PAWL_DRAIN_MS: number };

/** Runs a service until it is told to stop; telemetry is flushed last. Ends the process. */
export async function runMain<C extends MainConfig>(main: Main<C>): Promise<void> {
  await orExplain(async () => {
    const config = main.loadConfig();
    const log = createLog(main.name, config.PAWL_LOG_LEVEL);
    const { parts } = await main.create(config, log);
    const telemetry: Part = { name: 'telemetry', start: async () => {}, stop: () => main.telemetry.shutdown() };
    await runService({ log, parts: [telemetry, ...parts], drainMs: config.PAWL_DRAIN_MS });
  });
}

/** Applies the migrations of a schema and tells which. Needs `PAWL_DATABASE_URL` only; safe to repeat. */
export async function runMigrations(schema: { schema: string; folder: URL }): Promise<void> {
  await orExplain(async () => {
    const applied = await migrate({ url: migrationConfig().PAWL_DATABASE_URL, ...schema });
    process.stdout.write(`schema ${schema.schema}: ${applied.length === 0 ? 'up to date' : applied.join(', ')}\n`);
  });
}

async function orExplain(body: () => Promise<void>): Promise<void> {
  try {
    await body();
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
