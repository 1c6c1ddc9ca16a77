/**
 * The one result of a call, always data, never instructions (I12).
 * `data` is JSON text, so what a tool said reaches the model and the page digit for digit.
 */
import { z } from 'zod';
import { isJson, toolNameSchema } from './names.ts';
import { observationStatuses } from './words.ts';

export const observationStatusSchema = z.enum(observationStatuses);
export type ObservationStatus = z.infer<typeof observationStatusSchema>;

export const observationSchema = z.object({
  status: observationStatusSchema,
  /** JSON text of the result, or null when there is none. */
  data: z.string().nullable(),
  /** A code of the error catalogue, or null. */
  errorCode: z.string().nullable(),
  /** One plain sentence, or null. */
  message: z.string().nullable(),
  /** What to try next, or null. */
  suggestion: z.string().nullable(),
  /** Whether `data` is only a part of the result. */
  truncated: z.boolean(),
  /** Where the whole result can be read with `read_result`, or null. */
  ref: z.string().nullable(),
});
export type Observation = z.infer<typeof observationSchema>;

/** Who may be believed: `trusted` comes from the app's own systems, `untrusted` may hold anybody's words. */
export const trustSchema = z.enum(['trusted', 'untrusted']);
export type Trust = z.infer<typeof trustSchema>;

/** Where an observation comes from, as the model is told. */
export type ObservationSource = { tool: string; trust: Trust };

/** An observation without a result. */
export function failedObservation(
  status: Exclude<ObservationStatus, 'ok'>,
  failure: { code: string; message: string; suggestion?: string },
): Observation {
  return {
    status,
    data: null,
    errorCode: failure.code,
    message: failure.message,
    suggestion: failure.suggestion ?? null,
    truncated: false,
    ref: null,
  };
}

/**
 * The labelled envelope that a model gets as the content of a tool result: JSON with the keys
 * `status, data, error_code, message, suggestion, truncated, ref, source, trust`. Always valid JSON with each key once:
 * `data` that is not JSON text is put in as a string, so it can't add or replace a label.
 */
export function renderObservation(observation: Observation, source: ObservationSource): string {
  toolNameSchema.parse(source.tool);
  const { status, data, errorCode, message, suggestion, truncated, ref } = observation;
  const rest = JSON.stringify({
    error_code: errorCode,
    message,
    suggestion,
    truncated,
    ref,
    source: `tool:${source.tool}`,
    trust: source.trust,
  });
  const body = data === null || isJson(data) ? data : JSON.stringify(data);
  return `{"status":"${status}","data":${body},${rest.slice(1)}`;
}

/** Where the whole result of a call is kept when its observation holds only a part: `<app>/<runId>/<m>/<i>`. */
export function resultRef({ app, runId, m, i }: { app: string; runId: string; m: number; i: number }): string {
  return `${app}/${runId}/${m}/${i}`;
}
