/** Asks an endpoint again where that is free of charge and makes sense: at most `retriesMax` times, within the deadline. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Stop } from './call-clock.ts';
import { callModel, type ModelCall, type ModelCallResult } from './call-model.ts';
import type { Endpoints } from './endpoints.ts';
import { retryDelayMs } from './retry-after.ts';

export type Answer = {
  result: ModelCallResult;
  /** Calls made, at least 1. */
  attempts: number;
};

/**
 * An endpoint that refuses the form of a request with a schema is asked once more without it: the answer is checked anyway.
 * Only what surely cost nothing is tried again, so the hold for one call covers all tries. When the last try failed too,
 * its message comes with the first one's.
 */
export async function callWithRetries(
  endpoints: Endpoints,
  call: Omit<ModelCall, 'leftMs'> & { deadlineAtMs: number },
  retriesMax: number,
): Promise<Answer> {
  let firstMessage: string | undefined;
  let answerSchema = call.answerSchema;
  for (let attempts = 1; ; attempts += 1) {
    const result = await callModel(endpoints, { ...call, answerSchema, leftMs: call.deadlineAtMs - Date.now() });
    if (result.end.kind === 'refused' && result.end.isForm && answerSchema !== undefined) {
      answerSchema = undefined;
      continue;
    }
    if (result.end.kind !== 'busy') return { result, attempts };
    const { message, retryAfterMs } = result.end;
    firstMessage ??= message;
    const delayMs = retryDelayMs({
      attempt: attempts,
      retryAfterMs,
      leftMs: call.deadlineAtMs - Date.now(),
      chance: Math.random(),
    });
    if (attempts > retriesMax || delayMs === undefined) {
      const chain = attempts === 1 ? message : `${firstMessage}; after ${attempts} tries: ${message}`;
      return { result: { ...result, end: { ...result.end, message: chain } }, attempts };
    }
    await pause(delayMs, undefined, { signal: call.signal }).catch(() => undefined);
    if (call.signal.aborted) {
      return { result: { ...result, end: { kind: 'stopped', stop: call.signal.reason as Stop } }, attempts };
    }
  }
}
