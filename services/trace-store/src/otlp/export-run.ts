/**
 * A run as OTLP spans, under the names of the GenAI conventions, so that any tracing back end can take it. Pure.
 * Span ids are those that the services themselves report: sent to the same back end, they are the same spans.
 */
import { attributes as names, callSpanId, runSpanId } from '@pawl/telemetry';
import { z } from 'zod';
import type { TracedRun } from '../http/run-view.ts';
import type { ArrangedRecord } from './arrange-spans.ts';
import type { AttributeValue } from './span.ts';

type JsonValue = { [key: string]: unknown };

const spanKinds = { internal: 1, client: 3 } as const;

type Span = {
  name: string;
  kind: keyof typeof spanKinds;
  traceId: string;
  spanId: string;
  parentSpanId?: string | undefined;
  startedAt: string;
  durationMs: number;
  attributes: Record<string, AttributeValue | undefined>;
  error?: string | undefined;
};

/** An ExportTraceServiceRequest in JSON. With `hasContent`, thoughts, arguments and results are on the spans. */
export function exportRun(
  run: TracedRun,
  records: readonly ArrangedRecord[],
  { hasContent }: { hasContent: boolean },
): JsonValue {
  const traceId = run.traceId ?? '';
  const spans =
    run.source === 'otlp' ? foreignSpans(records, traceId) : ownSpans(run, { records, traceId, hasContent });
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
    kind: 'internal',
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
  route: z.object({ provider: z.string(), routeReason: z.string().optional() }).optional(),
  usage: z
    .object({ cachedInputTokens: z.number(), cacheWriteTokens: z.number(), reasoningTokens: z.number() })
    .optional(),
  finishReason: z.string().optional(),
  error: z.object({ code: z.string(), message: z.string() }).optional(),
});

function thoughtSpan(run: TracedRun, record: ArrangedRecord, { traceId, hasContent }: Story): Span {
  const body = thoughtBody.safeParse(bodyOf(record)).data ?? {};
  return {
    ...placed(record, traceId),
    name: `chat ${record.model ?? ''}`.trim(),
    kind: 'client',
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
      [names.routeReason]: body.route?.routeReason,
      ...(hasContent ? { 'gen_ai.output.messages': outputOf(body) } : {}),
    },
    error: body.error?.code,
  };
}

function outputOf({ text, calls }: z.infer<typeof thoughtBody>): string {
  const words = text ? [{ type: 'text', content: text }] : [];
  const asked = (calls ?? []).map(({ id, tool, args }) => ({ type: 'tool_call', id, name: tool, arguments: args }));
  return JSON.stringify([{ role: 'assistant', parts: [...words, ...asked] }]);
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
    kind: 'internal',
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

const foreignBody = z.object({
  spanName: z.string().optional(),
  attributes: z.record(z.string(), z.json()).optional(),
  error: z.object({ code: z.string() }).optional(),
});

/** Spans of another agent, as they came; their messages are in the records. */
function foreignSpans(records: readonly ArrangedRecord[], traceId: string): Span[] {
  return records
    .filter(({ storedSlot }) => storedSlot !== undefined)
    .map((record) => {
      const { spanName = '', attributes = {}, error } = foreignBody.safeParse(bodyOf(record)).data ?? {};
      const isModel = record.kind === 'thought';
      return {
        ...placed(record, traceId),
        name: spanName,
        kind: isModel ? 'client' : 'internal',
        parentSpanId: record.parentSpanId ?? undefined,
        attributes: attributes,
        error: error?.code,
      };
    });
}

function placed(
  record: ArrangedRecord,
  traceId: string,
): Pick<Span, 'traceId' | 'spanId' | 'startedAt' | 'durationMs'> {
  return { traceId, spanId: record.spanId ?? '', startedAt: record.startedAt, durationMs: record.durationMs };
}

function bodyOf(record: ArrangedRecord | undefined): unknown {
  return record?.body ? JSON.parse(record.body) : {};
}

function jsonOf(span: Span): JsonValue {
  const startNano = BigInt(Date.parse(span.startedAt)) * 1_000_000n;
  const endNano = startNano + BigInt(Math.round(span.durationMs * 1e6));
  const attributes = { ...span.attributes, ...(span.error === undefined ? {} : { 'error.type': span.error }) };
  return {
    traceId: span.traceId,
    spanId: span.spanId,
    ...(span.parentSpanId === undefined ? {} : { parentSpanId: span.parentSpanId }),
    name: span.name,
    kind: spanKinds[span.kind],
    startTimeUnixNano: startNano.toString(),
    endTimeUnixNano: endNano.toString(),
    attributes: listOf(attributes),
    status: span.error === undefined ? {} : { code: 2, message: span.error },
  };
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
