/** Where spans go. Read by itself, before any library that telemetry instruments is loaded. */
import process from 'node:process';

/** Reads `OTEL_SERVICE_NAME` and `OTEL_EXPORTER_OTLP_ENDPOINT`. */
export function telemetryConfig(serviceName: string): { serviceName: string; endpoint: string | undefined } {
  return {
    serviceName: process.env['OTEL_SERVICE_NAME'] || serviceName,
    endpoint: process.env['OTEL_EXPORTER_OTLP_ENDPOINT'] || undefined,
  };
}
