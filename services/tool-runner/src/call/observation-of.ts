/**
 * From an outcome to the observation that the run's log gets. Pure.
 * I12: the data is cleaned of invisible characters and cut here, at the one place that every kind passes through.
 */
import { type CutData, cutData, cutEnds, injectionWarning, visibleJson, visibleText } from '@pawl/calls';
import type { Observation, ObservationStatus, ToolSpec } from '@pawl/contracts';
import { durationMs } from '@pawl/contracts';
import { keyFigures } from '../observe/key-figures.ts';
import { explainRawError } from '../observe/raw-error-sentence.ts';
import type { Failure, Outcome, Result, Stored } from './outcome.ts';

const timeoutDefaultMs = 30_000;

/** Whether a call changes something in the world. */
export function isWrite(spec: ToolSpec): boolean {
  return spec.effect === 'write';
}

/** Whether the same call with the same key may be sent again. */
export function isRepeatable(spec: ToolSpec): boolean {
  return spec.idempotent ?? !isWrite(spec);
}

/** From the start of a call to its end, in milliseconds. */
export function timeoutMsOf(spec: ToolSpec): number {
  return spec.timeout ? durationMs(spec.timeout) : timeoutDefaultMs;
}

/** How long a tool may stay without a sign of life, in milliseconds; undefined where only its timeout ends it. */
export function idleMsOf(spec: ToolSpec): number | undefined {
  return spec.idleTimeout ? durationMs(spec.idleTimeout) : undefined;
}

/** Whether a call that failed may be tried once more: transient, and harmless to repeat. */
export function mayTryAgain(spec: ToolSpec, outcome: Outcome, attempt: number): boolean {
  if (outcome.kind !== 'failure' || !outcome.isTransient || !isRepeatable(spec)) return false;
  return attempt <= (spec.retry?.max ?? 1);
}

export type Rendered = {
  observation: Observation;
  /** The whole data, where the observation holds only a part of it. */
  whole: string | undefined;
};

/** The observation of an outcome. `ref` is null where the whole isn't stored yet: whoever stores it sets it. */
export function observationOf(outcome: Outcome, { spec, maxChars }: { spec: ToolSpec; maxChars: number }): Rendered {
  if (outcome.kind === 'result') return resultObservation(outcome, { spec, maxChars });
  if (outcome.kind === 'stored') return storedObservation(outcome, { spec, maxChars });
  return failureObservation(outcome, { spec, maxChars });
}

function resultObservation(result: Result, { spec, maxChars }: { spec: ToolSpec; maxChars: number }): Rendered {
  const whole = visibleJson(result.data);
  const cut = cutResult(result.shown === undefined ? whole : visibleJson(result.shown), maxChars);
  const isShort = cut.leftOut !== undefined || result.shown !== undefined;
  const warning = spec.returns?.trust === 'trusted' ? undefined : injectionWarning(cut.data);
  const sentences = [warning, result.note && visibleText(result.note), result.incomplete, cut.leftOut].filter(
    (sentence) => sentence !== undefined,
  );
  return {
    observation: {
      status: 'ok',
      data: cut.data,
      errorCode: null,
      message: sentences.length > 0 ? sentences.join(' ') : null,
      suggestion: null,
      truncated: isShort || result.incomplete !== undefined,
      ref: null,
    },
    whole: isShort ? whole : undefined,
  };
}

function storedObservation(stored: Stored, { spec, maxChars }: { spec: ToolSpec; maxChars: number }): Rendered {
  const { ref, bytes, isCut, head, tail, note } = stored;
  const data = visibleJson(cutEnds({ head, tail, bytes }, maxChars));
  const warning = spec.returns?.trust === 'trusted' ? undefined : injectionWarning(data);
  const size = `Only the ends of the result are shown; read on in it with read_result. It has ${bytes} bytes`;
  const told = isCut ? `${size} that are kept: the tool had more to say, and the rest was cut off.` : `${size}.`;
  return {
    observation: {
      status: 'ok',
      data,
      errorCode: null,
      message: [warning, note && visibleText(note), told].filter((text) => text !== undefined).join(' '),
      suggestion: isCut ? 'Ask for less, for example by a filter or a page, to see all of it.' : null,
      truncated: true,
      ref,
    },
    whole: undefined,
  };
}

/** A large table is told by its key figures, anything else by its ends. */
function cutResult(data: string, maxChars: number): CutData {
  const figures = data.length <= maxChars ? undefined : keyFigures(data, maxChars);
  if (figures === undefined) return cutData(data, maxChars);
  return { data: figures, leftOut: 'This is a summary of a large table; its rows can be read with read_result.' };
}

function failureObservation(failure: Failure, { spec, maxChars }: { spec: ToolSpec; maxChars: number }): Rendered {
  const isInDoubt = isWrite(spec) && failure.effect === 'possible';
  const data = failure.data === undefined ? null : cutData(visibleJson(failure.data), maxChars).data;
  // A kind that knows its errors has said it better.
  const isTold = failure.rawError === undefined || failure.message.includes('SQLSTATE');
  const known = isTold ? undefined : explainRawError(failure.rawError ?? '');
  const warning = data === null || spec.returns?.trust === 'trusted' ? undefined : injectionWarning(data);
  const message = [warning, failure.message, known?.message].filter((text) => text !== undefined).join(' ');
  const observation: Observation = {
    status: isInDoubt ? 'in_doubt' : statusOf(failure),
    data,
    errorCode: isInDoubt ? 'in_doubt' : failure.code,
    message: visibleText(isInDoubt ? `${message} Nobody knows whether the effect happened.` : message),
    suggestion: isInDoubt
      ? "Don't call it again. Find out by a reading tool whether it happened, or tell the user."
      : (known?.suggestion ?? failure.suggestion ?? null),
    truncated: false,
    ref: null,
  };
  return { observation, whole: undefined };
}

function statusOf({ code }: Failure): ObservationStatus {
  if (code === 'tool_timeout') return 'timeout';
  if (code === 'run_stopped') return 'cancelled';
  if (code === 'tool_not_allowed' || code === 'forbidden') return 'denied';
  return 'error';
}
