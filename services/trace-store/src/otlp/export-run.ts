/**
 * A run as OTLP spans, under the names of the GenAI conventions, so that any tracing back end can take it. Pure.
 * Span ids are those that the services themselves report: sent to the same back end, they are the same spans.
 */
import { attributes as names, callSpanId, runSpanId } from '@pawl/telemetry';
import { z } from 'zod';
import type { TracedRun } from '../http/run-view.ts';
import type { ArrangedRecord } from './arrange-spans.ts';
import { withoutContent } from './conventions.ts';
import type { Attributes, AttributeValue } from './span.ts';

type JsonValue = { [key: string]: unknown };

const spanKinds = { internal: 1, client: 3 } as const;

type Span = {
  name: string;
  kind: number;
  traceId: string;
  spanId: string;
  parentSpanId?: string | undefined;
  startedAt: string;
  durationMs: number;
  attributes: Record<string, AttributeValue | undefined>;
  error?: string | undefined;
  /** Whether the body of its record was too large to be read. */
  isCut?: boolean;
};

/** An ExportTraceServiceRequest in JSON. With `hasContent`, thoughts, arguments and results are on the spans. */
export function exportRun(
  run: TracedRun,
  records: readonly ArrangedRecord[],
  { hasContent }: { hasContent: boolean },
): JsonValue {
  const traceId = run.traceId ?? '';
  if (run.source === 'otlp') return { resourceSpans: foreignSpans({ records, traceId, hasContent }) };
  const spans = ownSpans(run, { records, traceId, hasContent });
  return {
    resourceSpans: [
      {
        resource: { attributes: listOf({ 'service.name': 'pawl', [names.app]: run.app }) },
        scopeSpans: [{ scope: { name: 'pawl' }, spans: spans.map(jsonOf) }],
      },
    ],
  };
}

type Story = { records: readonly ArrangedRecord[]; traceId: string; hasContent: boolean };

function ownSpans(run: TracedRun, story: Story): Span[] {
  const spans = [runSpan(run, story)];
  for (const record of story.records) {
    if (record.kind === 'thought') spans.push(thoughtSpan(run, record, story));
    if (record.kind === 'observed') spans.push(callSpan(run, record, story));
  }
  return spans;
}

const startedBody = z.object({
  parentSpanId: z.string().optional(),
  parent: z.object({ runId: z.string(), m: z.number(), i: z.number() }).optional(),
});

function runSpan(run: TracedRun, { records, traceId, hasContent }: Story): Span {
  const started = startedBody.safeParse(bodyOf(records.find(({ kind }) => kind === 'started'))).data;
  const parent = started?.parent;
  return {
    name: `invoke_agent ${run.agent ?? ''}`.trim(),
    kind: spanKinds.internal,
    traceId,
    spanId: runSpanId(run.id),
    parentSpanId: parent ? callSpanId(parent.runId, parent.m, parent.i) : started?.parentSpanId,
    startedAt: run.startedAt ?? run.lastAt,
    durationMs: run.durationMs ?? 0,
    attributes: {
      [names.operationName]: 'invoke_agent',
      [names.agentName]: run.agent,
      [names.conversationId]: run.session ?? undefined,
      [names.runId]: run.id,
      [names.app]: run.app,
      [names.stopReason]: run.stopReason ?? undefined,
      [names.steps]: run.steps,
      ...(hasContent ? { 'input.value': run.question ?? '', 'output.value': run.answer ?? undefined } : {}),
    },
    error: run.stopReason === 'internal_error' ? (run.detail ?? 'internal_error') : undefined,
  };
}

const thoughtBody = z.object({
  text: z.string().optional(),
  calls: z.array(z.object({ id: z.string(), tool: z.string(), args: z.string() })).optional(),
  route: z
    .object({ provider: z.string(), routeReason: z.string().optional(), responseId: z.string().optional() })
    .optional(),
  usage: z
    .object({ cachedInputTokens: z.number(), cacheWriteTokens: z.number(), reasoningTokens: z.number() })
    .optional(),
  finishReason: z.string().optional(),
  firstTokenMs: z.number().optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});

function thoughtSpan(run: TracedRun, record: ArrangedRecord, { traceId, hasContent }: Story): Span {
  const body = thoughtBody.safeParse(bodyOf(record)).data ?? {};
  return {
    ...placed(record, traceId),
    name: `chat ${record.model ?? ''}`.trim(),
    kind: spanKinds.client,
    parentSpanId: runSpanId(run.id),
    attributes: {
      [names.operationName]: 'chat',
      [names.providerName]: body.route?.provider,
      [names.requestModel]: record.model ?? undefined,
      [names.responseModel]: record.model ?? undefined,
      [names.responseFinishReasons]: body.finishReason === undefined ? undefined : [body.finishReason],
      [names.inputTokens]: record.inputTokens ?? undefined,
      [names.outputTokens]: record.outputTokens ?? undefined,
      [names.cacheReadTokens]: body.usage?.cachedInputTokens,
      [names.cacheWriteTokens]: body.usage?.cacheWriteTokens,
      [names.reasoningTokens]: body.usage?.reasoningTokens,
      [names.runId]: run.id,
      [names.purpose]: record.purpose ?? undefined,
      [names.costNanoUsd]: record.costNanoUsd ?? undefined,
      [names.responseId]: body.route?.responseId,
      [names.responseTimeToFirstChunk]: body.firstTokenMs === undefined ? undefined : body.firstTokenMs / 1_000,
      [names.routeReason]: body.route?.routeReason,
      ...(hasContent ? { 'gen_ai.output.messages': outputOf(body) } : {}),
    },
    error: body.error?.code,
  };
}

type Said = Pick<z.infer<typeof thoughtBody>, 'text' | 'calls'> & { callId?: unknown };

function outputOf(said: Said): string {
  return JSON.stringify([{ role: 'assistant', parts: partsOf(said) }]);
}

/** The parts of a message by the conventions. */
function partsOf({ text, calls, callId }: Said): object[] {
  if (typeof callId === 'string') return [{ type: 'tool_call_response', id: callId, response: text }];
  const words = text ? [{ type: 'text', content: text }] : [];
  const asked = (calls ?? []).map(({ id, tool, args }) => ({ type: 'tool_call', id, name: tool, arguments: args }));
  return [...words, ...asked];
}

const observedBody = z.object({
  observation: z.object({
    data: z.string().nullable(),
    errorCode: z.string().nullable(),
    message: z.string().nullable(),
  }),
});

function callSpan(run: TracedRun, record: ArrangedRecord, { traceId, hasContent, records }: Story): Span {
  const { data, message, errorCode } = observedBody.safeParse(bodyOf(record)).data?.observation ?? {};
  const acted = actedBody.safeParse(bodyOf(records.find(({ kind, m }) => kind === 'acted' && m === record.m))).data;
  const args = acted?.calls.find(({ i }) => i === record.i)?.args;
  return {
    ...placed(record, traceId),
    name: `execute_tool ${record.tool ?? ''}`.trim(),
    kind: spanKinds.internal,
    parentSpanId: runSpanId(run.id),
    attributes: {
      [names.operationName]: 'execute_tool',
      [names.toolName]: record.tool ?? undefined,
      [names.toolCallId]: record.callId ?? undefined,
      [names.runId]: run.id,
      [names.observationStatus]: record.status ?? undefined,
      ...(hasContent
        ? { 'gen_ai.tool.call.arguments': args, 'gen_ai.tool.call.result': data ?? message ?? undefined }
        : {}),
    },
    error: errorCode ?? undefined,
  };
}

const actedBody = z.object({ calls: z.array(z.object({ i: z.number(), args: z.string() })) });

const attributeMap = z.record(z.string(), z.json());
const foreignBody = z.object({
  spanName: z.string().optional(),
  attributes: attributeMap.optional(),
  resource: attributeMap.optional(),
  error: z.object({ code: z.string() }).optional(),
  messages: z.array(z.record(z.string(), z.json())).optional(),
  text: z.string().optional(),
  calls: thoughtBody.shape.calls,
  events: z.array(z.object({ name: z.string(), at: z.string(), attributes: attributeMap.optional() })).optional(),
  span: z
    .object({
      kind: z.number(),
      flags: z.number(),
      startNano: z.string(),
      endNano: z.string(),
      statusMessage: z.string(),
      scope: z.object({ name: z.string(), version: z.string() }),
      traceState: z.string().optional(),
      links: z
        .array(z.object({ traceId: z.string(), spanId: z.string(), attributes: attributeMap.optional() }))
        .optional(),
    })
    .optional(),
});
type ForeignBody = z.infer<typeof foreignBody>;

/** Spans of another agent, as they came, below the resources and scopes that they came from. */
function foreignSpans({ records, traceId, hasContent }: Story): JsonValue[] {
  const spans = records.flatMap((record) => {
    if (record.storedSlot === undefined) return [];
    const body = foreignBody.safeParse(bodyOf(record)).data ?? {};
    return [{ body, json: foreignSpan(record, body, { traceId, hasContent }) }];
  });
  const byResource = Map.groupBy(spans, ({ body }) => JSON.stringify(body.resource ?? {}));
  return [...byResource].map(([resource, ofResource]) => ({
    resource: { attributes: listOf(JSON.parse(resource) as Attributes) },
    scopeSpans: [...Map.groupBy(ofResource, ({ body }) => JSON.stringify(body.span?.scope ?? {}))].map(
      ([scope, ofScope]) => ({ scope: JSON.parse(scope) as object, spans: ofScope.map(({ json }) => json) }),
    ),
  }));
}

type Foreign = Pick<Story, 'traceId' | 'hasContent'>;

function foreignSpan(record: ArrangedRecord, body: ForeignBody, { traceId, hasContent }: Foreign): JsonValue {
  const { spanName = '', attributes = {}, error, span } = body;
  const clean = (some: Attributes = {}) => listOf(hasContent ? some : withoutContent(some));
  const json = jsonOf({
    ...placed(record, traceId),
    name: spanName,
    kind: span?.kind ?? (record.kind === 'thought' ? spanKinds.client : spanKinds.internal),
    parentSpanId: record.parentSpanId ?? undefined,
    attributes: hasContent ? { ...attributes, ...messagesIn(body) } : withoutContent(attributes),
    error: error?.code,
  });
  return {
    ...json,
    ...(span && {
      startTimeUnixNano: span.startNano,
      endTimeUnixNano: span.endNano,
      flags: span.flags,
      ...(span.traceState === undefined ? {} : { traceState: span.traceState }),
      ...(span.links && { links: span.links.map((link) => ({ ...link, attributes: clean(link.attributes) })) }),
      ...(error && { status: { code: 2, message: span.statusMessage } }),
    }),
    ...(body.events?.length && {
      events: body.events.map(({ name, at, attributes: said }) => ({
        name,
        timeUnixNano: nanoOf(at).toString(),
        attributes: clean(said),
      })),
    }),
  };
}

/** What went into a model and came out, under the names of today, whatever the dialect it came in. */
function messagesIn({ messages, text, calls }: ForeignBody): Attributes {
  if (!messages) return {};
  const input = messages.map(({ role, text: words, calls: asked, callId }) => ({
    role,
    parts: partsOf({ text: textOf(words), calls: thoughtBody.shape.calls.safeParse(asked).data, callId }),
  }));
  return {
    ...(input.length > 0 ? { 'gen_ai.input.messages': JSON.stringify(input) } : {}),
    'gen_ai.output.messages': outputOf({ text, calls }),
  };
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function placed(
  record: ArrangedRecord,
  traceId: string,
): Pick<Span, 'traceId' | 'spanId' | 'startedAt' | 'durationMs' | 'isCut'> {
  const { startedAt, durationMs } = record;
  return { traceId, spanId: record.spanId ?? '', startedAt, durationMs, isCut: record.body === null };
}

function bodyOf(record: ArrangedRecord | undefined): unknown {
  return record?.body ? JSON.parse(record.body) : {};
}

function jsonOf(span: Span): JsonValue {
  const startNano = nanoOf(span.startedAt);
  const endNano = startNano + BigInt(Math.round(span.durationMs * 1e6));
  const attributes = {
    ...span.attributes,
    ...(span.error === undefined ? {} : { 'error.type': span.error }),
    ...(span.isCut ? { 'pawl.body_omitted': true } : {}),
  };
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId === undefined ? {} : { parentSpanId: span.parentSpanId }),
    name: span.name,
    kind: span.kind,
    startTimeUnixNano: startNano.toString(),
    endTimeUnixNano: endNano.toString(),
    attributes: listOf(attributes),
    status: span.error === undefined ? {} : { code: 2, message: span.error },
  };
}

function nanoOf(time: string): bigint {
  return BigInt(Date.parse(time)) * 1_000_000n;
}

function listOf(attributes: Record<string, AttributeValue | undefined>): JsonValue[] {
  return Object.entries(attributes).flatMap(([key, value]) =>
    value === undefined || value === null ? [] : [{ key, value: valueOf(value) }],
  );
}

function valueOf(value: AttributeValue): JsonValue {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  if (typeof value === 'number') return Number.isInteger(value) ? { intValue: String(value) } : { doubleValue: value };
  if (Array.isArray(value)) return { arrayValue: { values: value.map(valueOf) } };
  return value === null ? {} : { kvlistValue: { values: listOf(value) } };
}
