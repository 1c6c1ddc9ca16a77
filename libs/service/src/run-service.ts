/**
 * The life of a service: parts start in order and stop in reverse. On SIGTERM or SIGINT it first says that it drains,
 * serves on for a moment so that load balancers notice, then stops; a second signal ends it at once.
 */
import { leaveSignals } from './early-signals.ts';
import type { Log } from './log.ts';

export type Part = {
  name: string;
  start(): Promise<void>;
  /** Told before anything stops. */
  drain?(): void;
  stop(): Promise<void>;
};

/** Starts the parts in order; what had started is stopped again when one fails. */
export async function startParts(parts: Part[]): Promise<void> {
  const started: Part[] = [];
  await startInto(started, { parts, isStopping: () => false });
}

/** Starts into `started`, so that who stops in the middle knows what there is to stop. */
async function startInto(started: Part[], options: { parts: Part[]; isStopping(): boolean }): Promise<void> {
  for (const part of options.parts) {
    if (options.isStopping()) return;
    try {
      await part.start();
      started.push(part);
    } catch (error) {
      await stopParts(started.splice(0)).catch(() => undefined);
      throw error;
    }
  }
}

/** Stops the parts in reverse order, all of them, and throws the first failure. */
export async function stopParts(parts: Part[]): Promise<void> {
  const failures: unknown[] = [];
  for (const part of parts.toReversed()) {
    await Promise.resolve()
      .then(() => part.stop())
      .catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

export type ServiceOptions = {
  log: Log;
  parts: Part[];
  /** How long to serve on after SIGTERM. Default 0. */
  drainMs?: number;
};

/**
 * Runs a service until it is told to stop, then ends the process: 0 after a clean stop, 1 after a failure. Told to stop while
 * it starts, it stops what has started and doesn't wait for a start that hangs.
 */
export async function runService(options: ServiceOptions): Promise<void> {
  const { log, parts } = options;
  const stopped = Promise.withResolvers<string>();
  const started: Part[] = [];
  let signals = 0;
  const onSignal = (signal: NodeJS.Signals) => {
    signals += 1;
    if (signals > 1) process.exit(1);
    stopped.resolve(signal);
  };
  process.on('SIGTERM', onSignal);
  process.on('SIGINT', onSignal);
  leaveSignals();
  try {
    await Promise.race([startInto(started, { parts, isStopping: () => signals > 0 }), stopped.promise]);
    if (signals === 0) log.info('started');
    const signal = await stopped.promise;
    log.info({ signal }, 'stopping');
    for (const part of started) part.drain?.();
    if (options.drainMs) await new Promise((resolve) => setTimeout(resolve, options.drainMs));
    await stopParts(started);
    log.info('stopped');
    process.exit(0);
  } catch (error) {
    log.fatal({ err: error }, 'the service can not go on');
    process.exit(1);
  }
}
