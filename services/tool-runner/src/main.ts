/** Process entry. Telemetry first: what it instruments must not be loaded before. */
import { startTelemetry, telemetryConfig } from '@pawl/telemetry';

const telemetry = await startTelemetry(telemetryConfig('pawl-tool-runner'));
const { runMain } = await import('@pawl/service');
const { loadConfig } = await import('./config.ts');
const { createToolRunner } = await import('./service.ts');

await runMain({ name: 'tool-runner', telemetry, loadConfig, create: createToolRunner });
