/**
 * A span of another agent as a record of its run, in the shape of the facts that Pawl's own runs are made of: a model call is
 * a thought, a tool call an observation. Pure.
 *
 * 1. The same span always becomes the same record; its slot is its id, so that what is sent twice is stored once.
 * 2. Tokens and money are counted at model calls alone: what an agent's span sums up is in its body only.
 * 3. The record doesn't know its turn: that follows from the other spans, and is told when the run is read.
 */
import { contributionOfSpan } from './span-contribution.ts';
import { blankRecord, type TraceRecord } from '../record/record.ts';
import type { RollUp } from '../record/roll-up.ts';
import { marksOf, safeText } from '../record/safe-text.ts';
import { callOf, finishReasonOf, kindOf, modelOf, providerOf, textIn, usageOf } from './conventions.ts';
import { holdsMessages, isMessageEvent, messagesOf } from './messages.ts';
import { isEntry, type Attributes, type OtlpSpan } from './span.ts';

export type SpanEntry = { record: TraceRecord; adds: RollUp };

/** The purpose of a record whose span is where its trace enters a process: once there is one, the run is over. */
export const entryPurpose = 'entry';

/** The record of a span and what it adds to its run. */
export function entryOfSpan(span: OtlpSpan, run: { app: string; runId: string }): SpanEntry {
  const kind = kindOf(span);
  const { columns, pieces } = kind === 'thought' ? thought(span) : kind === 'call' ? observed(span) : other(span);
  const body = pieces.join('');
  const record: TraceRecord = {
    ...blankRecord,
    ...columns,
    ...(isEntry(span) ? { purpose: entryPurpose } : {}),
    ...run,
    slot: `span.${span.spanId}`,
    // Microseconds: the order of starts.
    sequence: Number(span.startNano / 1_000n),
    at: isoOf(span.endNano),
    startedAt: isoOf(span.startNano),
    durationMs: Number(span.endNano - span.startNano) / 1e6,
    traceId: span.traceId,
    spanId: span.spanId,
    parentSpanId: span.parentSpanId,
    marks: body.includes('\\u') ? marksOf(body, JSON.parse(body)) : [],
    body,
    pieces,
  };
  return { record, adds: contributionOfSpan(span, record) };
}

type Shaped = { columns: Partial<TraceRecord> & Pick<TraceRecord, 'kind'>; pieces: string[] };

function thought(span: OtlpSpan): Shaped {
  const usage = usageOf(span);
  const { input, output } = messagesOf(span);
  const model = modelOf(span);
  const calls = output.flatMap((message) => message.calls).map(({ id, tool, args }) => ({ id, tool, args }));
  const status = span.statusCode === 2 ? 'failed' : 'reply';
  const head = {
    v: 1,
    kind: 'thought',
    purpose: 'think',
    outcome: status,
    text: output
      .map(({ text }) => text)
      .filter(Boolean)
      .join('\n'),
    reasoning: output
      .map(({ reasoning }) => reasoning)
      .filter(Boolean)
      .join('\n'),
    calls,
    finishReason: finishReasonOf(span),
    error: errorOf(span),
    route: { provider: providerOf(span) ?? '', model: model ?? '', routeReason: '' },
    usage: {
      ...usage,
      inputTokens: usage.inputTokens ?? 0,
      outputTokens: usage.outputTokens ?? 0,
      costNanoUsd: undefined,
    },
    costNanoUsd: usage.costNanoUsd ?? '0',
    costBasis: 'measured',
    ...common({ ...span, attributes: withoutMessages(span.attributes) }),
  };
  const columns = {
    kind: 'thought' as const,
    purpose: 'think',
    status,
    calls: calls.length,
    model: model === undefined ? null : safeText(model),
    inputTokens: usage.inputTokens,
    outputTokens: usage.outputTokens,
    costNanoUsd: usage.costNanoUsd,
  };
  return { columns, pieces: piecesOf(head, input) };
}

/** The conversation is told again at every call: each message is a piece of its own, so it is stored once in the run. */
function piecesOf(head: object, messages: readonly object[]): string[] {
  const texts = messages.map((message) => JSON.stringify(message));
  const open = `${JSON.stringify(head).slice(0, -1)},"messages":[`;
  return [open, ...texts.flatMap((text, at) => (at === 0 ? [text] : [',', text])), ']}'];
}

function observed(span: OtlpSpan): Shaped {
  const { tool, callId, args, result } = callOf(span);
  const error = errorOf(span);
  const status = error ? 'error' : 'ok';
  const observation = {
    status,
    data: error ? null : result,
    errorCode: error?.code ?? null,
    message: error?.message ?? null,
    suggestion: null,
    truncated: false,
    ref: null,
  };
  const body = {
    v: 1,
    kind: 'observed',
    callId: callId ?? span.spanId,
    tool,
    trust: 'untrusted',
    args,
    observation,
    attempt: 1,
    ...common(span),
  };
  const columns = { kind: 'observed' as const, callId: safeText(callId ?? span.spanId), tool: safeText(tool), status };
  return { columns, pieces: [JSON.stringify(body)] };
}

function other(span: OtlpSpan): Shaped {
  const status = span.statusCode === 2 ? 'error' : 'ok';
  const body = { v: 1, kind: 'span', name: span.name, role: kindOf(span), error: errorOf(span), ...common(span) };
  return { columns: { kind: 'span', status }, pieces: [JSON.stringify(body)] };
}

/** What is kept of any span as it came, so that it can go out again. */
function common(span: OtlpSpan): object {
  const { links, scope, traceState, dropped } = span;
  return {
    startedAt: isoOf(span.startNano),
    durationMs: Number(span.endNano - span.startNano) / 1e6,
    spanName: span.name,
    span: {
      kind: span.kind,
      flags: span.flags,
      startNano: span.startNano.toString(),
      endNano: span.endNano.toString(),
      statusMessage: span.statusMessage,
      scope,
      ...(traceState === '' ? {} : { traceState }),
      ...(links.length === 0 ? {} : { links }),
    },
    ...(Object.values(dropped).some((count) => count > 0) ? { dropped } : {}),
    attributes: span.attributes,
    events: span.events
      .filter(({ name }) => !isMessageEvent(name))
      .map(({ name, atNano, attributes }) => ({ name, at: isoOf(atNano), attributes: withoutMessages(attributes) })),
    resource: span.resource,
  };
}

function withoutMessages(attributes: Attributes): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([name]) => !holdsMessages(name)));
}

function errorOf({
  statusCode,
  statusMessage,
  attributes,
  events,
}: OtlpSpan): { code: string; message: string } | undefined {
  if (statusCode !== 2) return undefined;
  const exception = events.find(({ name }) => name === 'exception')?.attributes ?? {};
  return {
    code: textIn(attributes, 'error.type') ?? textIn(exception, 'exception.type') ?? 'error',
    message: statusMessage || (textIn(exception, 'exception.message') ?? 'it failed'),
  };
}

/** ISO time with milliseconds. */
export function isoOf(nano: bigint): string {
  return new Date(Number(nano / 1_000_000n)).toISOString();
}
