/** Where spans go. Apart from the other settings, because it is read before any library that telemetry watches is loaded. */
import process from 'node:process';

export function telemetrySettings(): { serviceName: string; endpoint: string | undefined } {
  return {
    serviceName: process.env.OTEL_SERVICE_NAME || 'pawl-trace-store',
    endpoint: process.env.OTEL_EXPORTER_OTLP_ENDPOINT || undefined,
  };
}
