/**
 * Process entry. Signals first, before anything else is so much as loaded; then telemetry: what it instruments must not be loaded
 * before.
 */
import { quitOnSignal } from '@pawl/service/early-signals';

quitOnSignal();
const { startTelemetry, telemetryConfig } = await import('@pawl/telemetry');
const telemetry = await startTelemetry(telemetryConfig('pawl-tool-runner'));
const { runMain } = await import('@pawl/service');
const { loadConfig } = await import('./config.ts');
const { createToolRunner } = await import('./service.ts');

await runMain({ name: 'tool-runner', telemetry, loadConfig, create: createToolRunner });
