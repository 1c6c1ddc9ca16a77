/** Spans as a request of OTLP/HTTP in JSON, as an exporter would send them; the trace id in capitals. */
import type { AttributeValue, OtlpSpan } from '../otlp/span.ts';

/** A request as OTLP JSON. */
export function otlpJsonOf(spans: readonly OtlpSpan[]): string {
  const value = (of: AttributeValue): object =>
    typeof of === 'number' ? { intValue: `${of}` } : { stringValue: typeof of === 'string' ? of : JSON.stringify(of) };
  const list = (attributes: OtlpSpan['attributes']) =>
    Object.entries(attributes).map(([key, of]) => ({ key, value: value(of) }));
  return JSON.stringify({
    resourceSpans: spans.map((span) => ({
      resource: { attributes: list(span.resource) },
      scopeSpans: [
        {
          scope: span.scope,
          spans: [
            {
              traceId: span.traceId.toUpperCase(),
              spanId: span.spanId,
              ...(span.parentSpanId === null ? {} : { parentSpanId: span.parentSpanId }),
              name: span.name,
              kind: span.kind,
              flags: span.flags,
              startTimeUnixNano: span.startNano.toString(),
              endTimeUnixNano: span.endNano.toString(),
              attributes: list(span.attributes),
              events: [],
              status: { code: span.statusCode, message: span.statusMessage },
            },
          ],
        },
      ],
    })),
  });
}
