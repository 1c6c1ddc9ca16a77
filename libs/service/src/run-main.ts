/** The two programs that every service has: the service itself, and its migrations. Mistakes in the configuration are told in sentences. */
import { RejectedError, UnavailableError } from '@pawl/contracts';
import { migrate } from '@pawl/db';
import type { Telemetry } from '@pawl/telemetry';
import { ConfigError, databaseOptionsOf, migrationConfig } from './config.ts';
import { quitOnSignal } from './early-signals.ts';
import { createLog, type Log } from './log.ts';
import { runService, type Part } from './run-service.ts';
import { serveStarting } from './serve-starting.ts';

export type Main<C> = {
  /** The service's name, as its log shows it. */
  name: string;
  telemetry: Telemetry;
  loadConfig(): C;
  /** Makes the parts, the listening last. `onWait` is told in a sentence what it waits for. */
  create(config: C, log: Log, onWait: (line: string) => void): Promise<{ parts: Part[] }>;
};

type MainConfig = {
  PAWL_LOG_LEVEL: Parameters<typeof createLog>[1];
  PAWL_HOST: string;
  PAWL_PORT: number;
  PAWL_DRAIN_MS: number;
};

/** Runs a service until it is told to stop; telemetry is flushed last. Ends the process. */
export async function runMain<C extends MainConfig>(main: Main<C>): Promise<void> {
  quitOnSignal();
  await runTask(async () => {
    const config = main.loadConfig();
    const log = createLog(main.name, config.PAWL_LOG_LEVEL);
    const starting = await serveStarting({ host: config.PAWL_HOST, port: config.PAWL_PORT });
    const { parts } = await main.create(config, log, (line) => {
      log.info(line);
      starting.waitFor(line);
    });
    const telemetry: Part = { name: 'telemetry', start: async () => {}, stop: () => main.telemetry.shutdown() };
    const handover: Part = { name: 'starting', start: starting.close, stop: async () => {} };
    const inOrder = [telemetry, ...parts.slice(0, -1), handover, ...parts.slice(-1)];
    await runService({ log, parts: inOrder, drainMs: config.PAWL_DRAIN_MS });
  });
}

/** Applies the migrations of a schema and tells which. Needs `PAWL_DATABASE_URL` only; safe to repeat. */
export async function runMigrations(schema: { schema: string; folder: URL }): Promise<void> {
  await runTask(async () => {
    const applied = await migrate({ ...databaseOptionsOf(migrationConfig()), ...schema });
    process.stdout.write(`schema ${schema.schema}: ${applied.length === 0 ? 'up to date' : applied.join(', ')}\n`);
  });
}

/** Runs what does its work and ends; what the caller or the world has to mend is told in sentences, exit code 1. */
export async function runTask(body: () => Promise<void>): Promise<void> {
  try {
    await body();
  } catch (error) {
    const isTold = [ConfigError, RejectedError, UnavailableError].some((type) => error instanceof type);
    if (!isTold || !(error instanceof Error)) throw error;
    process.stderr.write(`${error.message}\n`);
    process.exit(1);
  }
}
