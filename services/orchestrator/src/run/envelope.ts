/** How results are shown to a model: data in a labelled envelope (I12), with what the run knows beside it. Pure. */
import { renderObservation, type AgentSpec, type Definition, type Observed } from '@pawl/contracts';
import { failuresInARow } from './guards.ts';
import { guardsOf } from './limits.ts';
import type { RunState, Turn } from './state.ts';

/** `charsMax`: characters that are kept of each result. */
export type About = { state: RunState; definition: Definition; spec: AgentSpec; charsMax: number };

/** The envelope of one observation, with what the run knows beside it: alternatives, and that a person changed the call. */
export function resultOf(about: About, turn: Turn, i: number): string {
  const observed = turn.observed[i];
  if (!observed) return '{"status":"error","data":null,"error_code":"internal_error","message":"No result came."}';
  const suggestion = alternativesTo(about, observed);
  const approval = turn.approvals[i];
  const note =
    approval?.decision === 'edit' ? `A person approved this with other arguments: ${approval.args}` : undefined;
  if (suggestion === undefined && note === undefined && about.charsMax === Infinity) return wholeEnvelopeOf(observed);
  return envelopeOf(observed, { charsMax: about.charsMax, suggestion, note });
}

/** Facts never change, and each is shown at every model call from then on. */
const wholeEnvelopes = new WeakMap<Observed, string>();

function wholeEnvelopeOf(observed: Observed): string {
  const envelope = wholeEnvelopes.get(observed) ?? envelopeOf(observed, { charsMax: Infinity });
  wholeEnvelopes.set(observed, envelope);
  return envelope;
}

function envelopeOf(
  { observation, tool, trust }: Observed,
  of: { charsMax: number; suggestion?: string | undefined; note?: string | undefined },
): string {
  const { charsMax } = of;
  const suggestion = of.suggestion ?? observation.suggestion;
  const message = [of.note, observation.message].filter(Boolean).join(' ') || null;
  const data = clipData(observation.data, charsMax);
  const isCut = data !== observation.data;
  return renderObservation(
    {
      ...observation,
      data,
      message: message && clip(message, charsMax),
      suggestion: suggestion && clip(suggestion, charsMax),
      truncated: observation.truncated || isCut,
    },
    { tool: sendableName(tool), trust },
  );
}

/** A name that a model made up, in the form that providers take; a tool's own name stays as it is. */
export function sendableName(name: string): string {
  return name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64) || 'unnamed';
}

function alternativesTo({ state, definition, spec }: About, observed: Observed): string | undefined {
  if (observed.observation.status === 'ok' || observed.observation.status === 'duplicate') return undefined;
  const tool = definition.tools.find(({ object }) => object.metadata.name === observed.tool)?.object;
  const alternatives = tool?.spec.alternatives ?? [];
  if (alternatives.length === 0) return undefined;
  const failures = failuresInARow(state, observed.tool, observed);
  if (failures < guardsOf(spec).toolFailures) return undefined;
  return `${observed.tool} has failed ${failures} times in a row. Try ${alternatives.join(' or ')} instead.`;
}

function clipData(data: string | null, charsMax: number): string | null {
  return data === null || data.length <= charsMax ? data : JSON.stringify(clip(data, charsMax));
}

/** The beginning of a text, and how much of it is left out. */
export function clip(text: string, charsMax: number): string {
  if (text.length <= charsMax) return text;
  const head = text.slice(0, charsMax).replace(/[\uD800-\uDBFF]$/, '');
  return `${head} … ${text.length - head.length} characters left out`;
}
