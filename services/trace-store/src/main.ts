/** The process of trace-store. Telemetry comes first: it has to be in place before what it watches is loaded. */
import { startTelemetry } from '@pawl/telemetry';
import { telemetrySettings } from './telemetry/config.ts';

const telemetry = await startTelemetry(telemetrySettings());
const { runTraceStore } = await import('./service.ts');
await runTraceStore(telemetry);
