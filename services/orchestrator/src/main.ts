/** Process entry. Telemetry first: what it instruments must not be loaded before. */
import { startTelemetry, telemetryConfig } from '@pawl/telemetry';

const telemetry = await startTelemetry(telemetryConfig('pawl-orchestrator'));
const { runMain } = await import('@pawl/service');
const { loadConfig } = await import('./config.ts');
const { createOrchestrator } = await import('./service.ts');

await runMain({ name: 'orchestrator', telemetry, loadConfig, create: createOrchestrator });
