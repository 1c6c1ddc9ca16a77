/** Process entry. Telemetry first: what it instruments must not be loaded before. */
import { startTelemetry } from '@pawl/telemetry';
import { loadConfig } from './config.ts';

const config = loadConfig();
const serviceName = config.OTEL_SERVICE_NAME ?? 'pawl-tool-runner';
const telemetry = await startTelemetry({ serviceName, endpoint: config.OTEL_EXPORTER_OTLP_ENDPOINT });
const { createToolRunner } = await import('./service.ts');
const { createLog, runService } = await import('@pawl/service');

const log = createLog('tool-runner', config.PAWL_LOG_LEVEL);
const { parts } = await createToolRunner(config, log);
await runService({
  log,
  parts: [{ name: 'telemetry', start: async () => {}, stop: () => telemetry.shutdown() }, ...parts],
  drainMs: config.PAWL_DRAIN_MS,
});
