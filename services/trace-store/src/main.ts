/** Process entry. Telemetry first: what it instruments must not be loaded before. */
import { startTelemetry, telemetryConfig } from '@pawl/telemetry';

const telemetry = await startTelemetry(telemetryConfig('pawl-trace-store'));
const { runMain } = await import('@pawl/service');
const { loadConfig } = await import('./config.ts');
const { createTraceStore } = await import('./service.ts');

await runMain({ name: 'trace-store', telemetry, loadConfig, create: createTraceStore });
