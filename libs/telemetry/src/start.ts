/**
 * Starts the OpenTelemetry SDK. Without an endpoint nothing is loaded, so telemetry that is off costs nothing.
 * Has to run before the libraries that it instruments are imported.
 */
import { idGenerator } from './id-generator.ts';

const shutdownWithinMs = 5_000;

/** What was started; `shutdown` flushes and never throws. */
export type Telemetry = { shutdown(): Promise<void> };

/**
 * Exports spans over OTLP/HTTP to `endpoint` (a collector's root URL, such as `http://localhost:4318`).
 * `shutdown` flushes what is left within 5 s; it never throws, since a dead collector must not fail a service.
 */
export async function startTelemetry(options: {
  serviceName: string;
  endpoint?: string | undefined;
}): Promise<Telemetry> {
  if (!options.endpoint) return { shutdown: async () => {} };
  const [{ NodeSDK }, { getNodeAutoInstrumentations }, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/sdk-node'),
    import('@opentelemetry/auto-instrumentations-node'),
    import('@opentelemetry/exporter-trace-otlp-proto'),
  ]);
  const url = `${options.endpoint.replace(/(?<!\/)\/+$/, '')}/v1/traces`;
  const sdk = new NodeSDK({
    serviceName: options.serviceName,
    idGenerator,
    traceExporter: new OTLPTraceExporter({ url }),
    instrumentations: [
      getNodeAutoInstrumentations({
        '@opentelemetry/instrumentation-fs': { enabled: false },
        '@opentelemetry/instrumentation-net': { enabled: false },
        '@opentelemetry/instrumentation-dns': { enabled: false },
        // A query of nobody's trace, such as a look at a queue, would be a trace of its own.
        '@opentelemetry/instrumentation-pg': { requireParentSpan: true },
      }),
    ],
  });
  sdk.start();
  const tooLate = () => new Promise<void>((resolve) => void setTimeout(resolve, shutdownWithinMs).unref());
  return { shutdown: () => Promise.race([sdk.shutdown().catch(() => {}), tooLate()]) };
}
