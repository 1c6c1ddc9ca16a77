/**
 * Which spans tell again what another span of the run tells. Pure; it follows from the set of spans, whatever their order.
 * A framework and the client library below it may both report one model call, and one call of a tool: each counts once.
 *
 * 1. Of model calls inside of each other the innermost count, where any of them tells tokens; else the outermost.
 * 2. Of calls of one tool inside of each other the outermost counts: what the agent asked for.
 * 3. What happens inside of a tool call, a whole agent perhaps, repeats nothing of what is around it.
 */
import type { TraceRecord } from '../record/record.ts';

export type SpanPlace = Pick<TraceRecord, 'spanId' | 'parentSpanId' | 'kind' | 'tool' | 'inputTokens' | 'outputTokens'>;

/** The ids of spans that are not to be counted. */
export function repeatsIn(spans: readonly SpanPlace[]): ReadonlySet<string> {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const repeats = new Set<string>();
  const inside = new Map<string, SpanPlace[]>();
  const inner = new Set<string>();
  for (const span of spans) {
    const around = span.kind === 'thought' || span.kind === 'observed' ? aroundOf(span, byId) : undefined;
    if (!around || span.spanId === null || around.spanId === null) continue;
    if (span.kind === 'observed') {
      repeats.add(span.spanId);
      continue;
    }
    const known = inside.get(around.spanId) ?? [];
    known.push(span);
    inside.set(around.spanId, known);
    inner.add(span.spanId);
  }
  for (const outermost of inside.keys()) if (!inner.has(outermost)) settle(outermost, inside, repeats);
  return repeats;
}

/** The nearest span around it that is of the same kind, and for a call of the same tool, with nothing but plain spans between. */
function aroundOf(span: SpanPlace, byId: ReadonlyMap<string | null, SpanPlace>): SpanPlace | undefined {
  const passed = new Set<SpanPlace>([span]);
  for (let around = parentOf(span, byId); around && !passed.has(around); around = parentOf(around, byId)) {
    if (around.kind === span.kind) return around.tool === span.tool ? around : undefined;
    if (around.kind !== 'span') return undefined;
    passed.add(around);
  }
  return undefined;
}

function parentOf(span: SpanPlace, byId: ReadonlyMap<string | null, SpanPlace>): SpanPlace | undefined {
  return span.parentSpanId === null ? undefined : byId.get(span.parentSpanId);
}

/** Decides between a model call and those inside of it. */
function settle(outer: string, inside: ReadonlyMap<string, readonly SpanPlace[]>, repeats: Set<string>): void {
  const within = withinOf(outer, inside);
  const innermost = within.filter(({ spanId }) => spanId === null || !inside.has(spanId));
  const counted = innermost.some(tellsTokens) ? new Set(innermost) : new Set<SpanPlace>();
  if (counted.size > 0) repeats.add(outer);
  for (const span of within) if (!counted.has(span) && span.spanId !== null) repeats.add(span.spanId);
}

function withinOf(outer: string, inside: ReadonlyMap<string, readonly SpanPlace[]>): SpanPlace[] {
  const direct = inside.get(outer) ?? [];
  return direct.flatMap((span) => [span, ...(span.spanId === null ? [] : withinOf(span.spanId, inside))]);
}

function tellsTokens({ inputTokens, outputTokens }: SpanPlace): boolean {
  return (inputTokens ?? 0) + (outputTokens ?? 0) > 0;
}
