/** Process entry. Telemetry first: what it instruments must not be loaded before. */
import { startTelemetry, telemetryConfig } from '@pawl/telemetry';

const telemetry = await startTelemetry(telemetryConfig('pawl-llm-gateway'));
const { runMain } = await import('@pawl/service');
const { loadConfig } = await import('./config.ts');
const { createGateway } = await import('./service.ts');

await runMain({ name: 'llm-gateway', telemetry, loadConfig, create: createGateway });
