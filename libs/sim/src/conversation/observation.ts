/**
 * Turns one tool message into an observation that rules can query, whatever shape its content has: the envelope of the
 * tool-runner, the envelope inside other text, or plain text.
 *
 * Must not throw: a tool result is data, and odd data is still data.
 */

/** One tool result as rules see it. `data` is JSON where the result held JSON, else text, else null. */
export interface SimObservation {
  tool: string;
  callId: string;
  args: unknown;
  status: string;
  data: unknown;
  error_code: string | null;
  message: string | null;
  suggestion: string | null;
  truncated: boolean;
}

/** The call that a tool message answers. `argumentsText` is the text the model gave. */
export interface AnsweredCall {
  callId: string;
  tool: string;
  argumentsText: string;
}

/** Reads the content of a tool message. Content that is no envelope becomes the data of an `ok` observation. */
export function parseObservation(call: AnsweredCall, content: string): SimObservation {
  const base = { tool: call.tool, callId: call.callId, args: parseJson(call.argumentsText) ?? null };
  const envelope = parseEnvelope(content);
  if (envelope === undefined) {
    const data = parseJson(content) ?? content;
    return { ...base, status: 'ok', data, error_code: null, message: null, suggestion: null, truncated: false };
  }
  return {
    ...base,
    status: textOrNull(envelope['status']) ?? 'ok',
    data: normaliseData(envelope['data']),
    error_code: textOrNull(envelope['error_code']),
    message: textOrNull(envelope['message']),
    suggestion: textOrNull(envelope['suggestion']),
    truncated: envelope['truncated'] !== undefined && envelope['truncated'] !== null && envelope['truncated'] !== false,
  };
}

function parseEnvelope(content: string): Record<string, unknown> | undefined {
  const opening = content.indexOf('{');
  const closing = content.lastIndexOf('}');
  const candidates = [content, content.slice(opening, closing + 1)];
  for (const candidate of candidates) {
    const value = parseJson(candidate);
    if (isRecord(value) && typeof value['status'] === 'string') return value;
  }
  return undefined;
}

function normaliseData(data: unknown): unknown {
  if (typeof data !== 'string') return data ?? null;
  const parsed = parseJson(data);
  return typeof parsed === 'object' && parsed !== null ? parsed : data;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
