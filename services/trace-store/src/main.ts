/** Process entry. Telemetry first: what it watches must not be loaded before. */
import { startTelemetry } from '@pawl/telemetry';
import { telemetrySettings } from './telemetry/config.ts';

const telemetry = await startTelemetry(telemetrySettings());
const { loadConfig } = await import('./config.ts');
const { createTraceStore } = await import('./service.ts');
const { createLog, runService } = await import('@pawl/service');

const config = loadConfig();
const log = createLog('trace-store', config.PAWL_LOG_LEVEL);
const { parts } = await createTraceStore(config, log);
await runService({
  log,
  parts: [{ name: 'telemetry', start: async () => {}, stop: () => telemetry.shutdown() }, ...parts],
  drainMs: config.PAWL_DRAIN_MS,
});
