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
  const nearest = nearestIn(spans);
  const repeats = new Set<string>();
  const inside = new Map<string, SpanPlace[]>();
  const inner = new Set<string>();
  for (const span of spans) {
    const around = span.kind === 'thought' || span.kind === 'observed' ? aroundOf(span, nearest) : undefined;
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

type Nearest = (span: SpanPlace) => SpanPlace | undefined;

/** The span around it that may tell the same: of the same kind, and for a call of the same tool. */
function aroundOf(span: SpanPlace, nearest: Nearest): SpanPlace | undefined {
  const around = nearest(span);
  return around && around !== span && around.kind === span.kind && around.tool === span.tool ? around : undefined;
}

/** Finds the nearest span around another that is no plain one. Each way up is gone once, however many begin there. */
function nearestIn(spans: readonly SpanPlace[]): Nearest {
  const byId = new Map(spans.map((span) => [span.spanId, span]));
  const parentOf = ({ parentSpanId }: SpanPlace) => (parentSpanId === null ? undefined : byId.get(parentSpanId));
  const known = new Map<SpanPlace, SpanPlace | undefined>();
  return (span) => {
    const passed = new Set<SpanPlace>();
    let around = parentOf(span);
    while (around?.kind === 'span' && !known.has(around) && !passed.has(around)) {
      passed.add(around);
      around = parentOf(around);
    }
    const found = around?.kind === 'span' ? known.get(around) : around;
    for (const plain of passed) known.set(plain, found);
    return found;
  };
}

/** Decides between a model call and those inside of it. */
function settle(outer: string, inside: ReadonlyMap<string, readonly SpanPlace[]>, repeats: Set<string>): void {
  const within = withinOf(outer, inside);
  const innermost = within.filter(({ spanId }) => spanId === null || !inside.has(spanId));
  const counted = innermost.some(tellsTokens) ? new Set(innermost) : new Set<SpanPlace>();
  if (counted.size > 0) repeats.add(outer);
  for (const span of within) if (!counted.has(span) && span.spanId !== null) repeats.add(span.spanId);
}

/** All that is inside, however deep. */
function withinOf(outer: string, inside: ReadonlyMap<string, readonly SpanPlace[]>): SpanPlace[] {
  const within = [...(inside.get(outer) ?? [])];
  for (const { spanId } of within) if (spanId !== null) within.push(...(inside.get(spanId) ?? []));
  return within;
}

function tellsTokens({ inputTokens, outputTokens }: SpanPlace): boolean {
  return (inputTokens ?? 0) + (outputTokens ?? 0) > 0;
}
