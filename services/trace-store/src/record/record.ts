/**
 * A record: one fact as a row of the trace. Pure.
 *
 * 1. The same fact always becomes the same record, whenever and however often it is delivered.
 * 2. The body is the fact's text as it came, digit for digit.
 */
import type { Fact, FactKind, Started } from '@pawl/contracts';
import { callSpanId, runSpanId, thoughtSpanId } from '@pawl/telemetry';
import type { ParsedFact } from './fact-message.ts';
import { marksOf, safeText, type Mark } from './safe-text.ts';

/** `span`: a span of another agent that is neither a thought nor a call. */
export type RecordKind = FactKind | 'span';

export type TraceRecord = {
  app: string;
  runId: string;
  slot: string;
  /** Sequence of the fact in the stream. */
  sequence: number;
  kind: RecordKind;
  m: number | null;
  i: number | null;
  step: number | null;
  purpose: string | null;
  callId: string | null;
  tool: string | null;
  /** Observation status, outcome of a thought, or decision of an approval. */
  status: string | null;
  /** How many calls a thought asked for, or were acted. */
  calls: number | null;
  inputTokens: number | null;
  outputTokens: number | null;
  /** Whole nano-USD as decimal digits. */
  costNanoUsd: string | null;
  /** What the sub-run that answered the call has used. It has records of its own, so this is never added to the above. */
  subTokens: number | null;
  subCostNanoUsd: string | null;
  /** Of `started`: how many turns, and steps among them, a fork took over. */
  seededTurns: number | null;
  seededSteps: number | null;
  model: string | null;
  /** When the fact was written, ISO time. */
  at: string;
  startedAt: string;
  durationMs: number;
  traceId: string | null;
  spanId: string | null;
  parentSpanId: string | null;
  marks: Mark[];
  /** JSON text. */
  body: string;
  /** The body, cut where its parts may be told again by other records of the run. Absent: in one piece. */
  pieces?: string[];
  /** What it was made of; absent for spans and for what was read back. */
  fact?: Fact;
};

/** A record that was just made of a fact. */
export type FactRecord = TraceRecord & { fact: Fact };

/** The row of a fact. */
export function recordOf(parsed: ParsedFact): FactRecord {
  const { fact, text, slot, sequence, trace } = parsed;
  return {
    fact,
    ...blankRecord,
    ...columnsOf(fact),
    app: fact.app,
    runId: fact.runId,
    slot,
    sequence,
    kind: fact.kind,
    at: utcMs(fact.at),
    traceId: trace?.traceId ?? (fact.kind === 'started' ? fact.traceId : null),
    spanId: spanIdOf(fact) ?? trace?.spanId ?? null,
    marks: [...marksOf(text, fact), ...(parsed.isRedacted ? (['redacted'] as const) : [])],
    body: text,
  };
}

/** The columns that most records leave empty. */
export const blankRecord = {
  m: null,
  i: null,
  step: null,
  purpose: null,
  callId: null,
  tool: null,
  status: null,
  calls: null,
  inputTokens: null,
  outputTokens: null,
  costNanoUsd: null,
  subTokens: null,
  subCostNanoUsd: null,
  seededTurns: null,
  seededSteps: null,
  model: null,
  parentSpanId: null,
};

type Columns = Partial<TraceRecord> & Pick<TraceRecord, 'startedAt' | 'durationMs'>;

function columnsOf(fact: Fact): Columns {
  const instant = { startedAt: utcMs(fact.at), durationMs: 0 };
  switch (fact.kind) {
    case 'thought':
      return {
        m: fact.m,
        purpose: fact.purpose,
        status: fact.outcome,
        calls: fact.calls.length,
        inputTokens: fact.usage.inputTokens,
        outputTokens: fact.usage.outputTokens,
        costNanoUsd: fact.costNanoUsd,
        model: fact.route ? safeText(fact.route.model) : null,
        startedAt: utcMs(fact.startedAt),
        durationMs: fact.durationMs,
      };
    case 'acted':
      return { ...instant, m: fact.m, step: fact.step, calls: fact.calls.length };
    case 'observed':
      return {
        m: fact.m,
        i: fact.i,
        callId: safeText(fact.callId),
        tool: safeText(fact.tool),
        status: fact.observation.status,
        subTokens: fact.spent?.tokens ?? null,
        subCostNanoUsd: fact.spent?.costNanoUsd ?? null,
        startedAt: utcMs(fact.startedAt),
        durationMs: fact.durationMs,
      };
    case 'approval':
      return { ...instant, m: fact.m, i: fact.i, callId: safeText(fact.callId), status: fact.decision };
    case 'started':
      return { ...instant, ...seedOf(fact) };
    case 'signal':
    case 'cancel':
    case 'paused':
    case 'resumed':
    case 'ended':
      return instant;
  }
}

/** What a fork took over, counted as the loop counts it. */
function seedOf({ seed }: Started): { seededTurns: number; seededSteps: number } | undefined {
  if (!seed || seed.length === 0) return undefined;
  const steps = seed.filter((fact) => fact.kind === 'thought' && fact.outcome === 'reply' && fact.purpose === 'think');
  const turns = seed.flatMap((fact) => ('m' in fact ? [fact.m + 1] : []));
  return { seededTurns: Math.max(0, ...turns), seededSteps: steps.length };
}

const utcMsPattern = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

/** An ISO time in one form, in UTC with milliseconds, so that text order is time order. */
function utcMs(time: string): string {
  return utcMsPattern.test(time) ? time : new Date(time).toISOString();
}

/** The facts that are spans of their own; the ids follow from the run's, as the services report them. */
function spanIdOf(fact: Fact): string | undefined {
  switch (fact.kind) {
    case 'started':
    case 'ended':
      return runSpanId(fact.runId);
    case 'thought':
      return thoughtSpanId(fact.runId, fact.m);
    case 'observed':
      return callSpanId(fact.runId, fact.m, fact.i);
    default:
      return undefined;
  }
}
