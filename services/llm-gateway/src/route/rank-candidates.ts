/**
 * Which candidates of a route may get a call, in which order, and why. Pure: chance, health and prices come in.
 *
 * Invariant: a candidate that is not allowed for every class of the call's data is never in the ranking (I14).
 */
import type { Candidate, ModelRouteSpec } from '@pawl/contracts';

/** What a call needs of a model. */
export type Needs = {
  model?: string | undefined;
  dataClasses: readonly string[];
  hasTools: boolean;
  hasSchema: boolean;
  hasImages: boolean;
  /** A likely number, not a bound. */
  inputTokens: number;
};

/** What is known of an endpoint. */
export type EndpointState = {
  /** Whether its circuit is closed: it has not failed several times in a row of late. */
  isHealthy: boolean;
  /** How long it takes to the first token; undefined while nobody has asked it. */
  firstTokenMs: number | undefined;
  /** Nano-USD for the likely input and as much output; undefined when its price is unknown. */
  likelyCost: bigint | undefined;
};

export type RankedCandidate = { candidate: Candidate; reason: string };

export type Ranking =
  | { ranked: [RankedCandidate, ...RankedCandidate[]] }
  | { blocked: 'residency_blocked' | 'not_supported' | 'unknown_route'; message: string };

export type Ranked = {
  /** Only serves the written reasons. */
  routeName: string;
  spec: ModelRouteSpec;
  needs: Needs;
  stateOf(candidate: Candidate): EndpointState;
  /** Numbers from 0 to 1. */
  chance(): number;
};

type Entry = { candidate: Candidate; position: number; state: EndpointState; draw: number; share: string };

/** The order in which to ask: healthy ones first, then by priority, then by the route's strategy. */
export function rankCandidates(of: Ranked): Ranking {
  const { routeName, spec, needs } = of;
  const named = spec.candidates
    .map((candidate, position) => ({ candidate, position }))
    .filter(({ candidate }) => needs.model === undefined || candidate.model === needs.model);
  if (named.length === 0)
    return { blocked: 'unknown_route', message: `no candidate of ${routeName} is ${needs.model}` };
  const isRestricted = spec.candidates.some(({ dataClasses }) => dataClasses !== undefined);
  const allowed = named.filter(({ candidate }) => !isRestricted || isAllowedFor(candidate, needs.dataClasses));
  if (allowed.length === 0) {
    const classes = needs.dataClasses.join(', ');
    const message = `no endpoint of route ${routeName} is allowed for data of class ${classes}`;
    return { blocked: 'residency_blocked', message };
  }
  const able = allowed.filter(({ candidate }) => lackOf(candidate, needs) === undefined);
  if (able.length === 0) {
    const lacks = allowed.map(({ candidate }) => `${candidate.model} ${lackOf(candidate, needs)}`);
    return { blocked: 'not_supported', message: `route ${routeName} has no model for this call: ${lacks.join('; ')}` };
  }
  const entries = withDraws(able, of).toSorted(byOrder(spec.strategy ?? 'weighted'));
  const left = spec.candidates.length - able.length;
  const [first, ...others] = entries.map((entry) => ({
    candidate: entry.candidate,
    reason: reasonOf(entry, { of, among: able.length, left }),
  }));
  if (!first) throw new TypeError('a ranking without candidates');
  return { ranked: [first, ...others] };
}

/**
 * Residency (I14): as soon as one candidate of a route names the classes of data that it is allowed for, the others get no
 * data of any class unless they name it, too. A route in which no candidate names any has no such rule.
 */
function isAllowedFor(candidate: Candidate, dataClasses: readonly string[]): boolean {
  return dataClasses.every((dataClass) => candidate.dataClasses?.includes(dataClass) ?? false);
}

/** What a candidate is known not to be able to, in words that follow its name. */
function lackOf({ capabilities = {} }: Candidate, needs: Needs): string | undefined {
  if (needs.hasTools && capabilities.tools === false) return 'takes no tools';
  if (needs.hasSchema && capabilities.jsonSchema === false) return 'takes no JSON Schema';
  if (needs.hasImages && capabilities.images === false) return 'takes no images';
  const { contextTokens } = capabilities;
  if (contextTokens !== undefined && needs.inputTokens > contextTokens) return `holds ${contextTokens} tokens`;
  return undefined;
}

/** Gives each candidate its place among equals: a lot by weight where the route has weights, else the listed order. */
function withDraws(able: readonly Pick<Entry, 'candidate' | 'position'>[], { stateOf, chance }: Ranked): Entry[] {
  return able.map(({ candidate, position }) => {
    const equals = able.filter((other) => priorityOf(other.candidate) === priorityOf(candidate));
    const hasWeights = equals.length > 1 && equals.some((other) => other.candidate.weight !== undefined);
    const sum = equals.reduce((total, other) => total + (other.candidate.weight ?? 1), 0);
    const weight = candidate.weight ?? 1;
    // The smallest of exponentially distributed lots falls to each with the probability of its weight.
    const draw = !hasWeights ? position : weight === 0 ? Infinity : -Math.log(1 - chance() * 0.999_999) / weight;
    return {
      candidate,
      position,
      state: stateOf(candidate),
      draw,
      share: hasWeights ? `weight ${weight} of ${sum}` : '',
    };
  });
}

function byOrder(strategy: NonNullable<ModelRouteSpec['strategy']>): (a: Entry, b: Entry) => number {
  return (a, b) =>
    Number(b.state.isHealthy) - Number(a.state.isHealthy) ||
    priorityOf(a.candidate) - priorityOf(b.candidate) ||
    byStrategy(strategy, a, b) ||
    (a.draw === b.draw ? 0 : a.draw - b.draw) ||
    a.position - b.position;
}

function byStrategy(strategy: NonNullable<ModelRouteSpec['strategy']>, a: Entry, b: Entry): number {
  if (strategy === 'cheapest') {
    const [costA, costB] = [a.state.likelyCost, b.state.likelyCost];
    if (costA === undefined || costB === undefined) return Number(costA === undefined) - Number(costB === undefined);
    return costA < costB ? -1 : costA > costB ? 1 : 0;
  }
  // Who was never asked comes first, so that everyone is measured.
  if (strategy === 'fastest') return (a.state.firstTokenMs ?? 0) - (b.state.firstTokenMs ?? 0);
  return 0;
}

function reasonOf(entry: Entry, { of, among, left }: { of: Ranked; among: number; left: number }): string {
  const { spec, routeName, needs } = of;
  const setAside = left > 0 ? `, ${left} set aside for what the call needs` : '';
  const classes = needs.dataClasses.length > 0 ? `, allowed for ${needs.dataClasses.join(', ')}` : '';
  if (among === 1) return `the only ${left > 0 ? 'fitting ' : ''}candidate of route ${routeName}${classes}${setAside}`;
  const words = [`priority ${priorityOf(entry.candidate)}`];
  if (spec.strategy === 'cheapest') words.push('cheapest first');
  else if (spec.strategy === 'fastest') words.push('fastest first');
  else words.push(entry.share === '' ? 'in listed order' : entry.share);
  if (!entry.state.isHealthy) words.push('although it failed of late');
  const place = `candidate ${entry.position + 1} of ${spec.candidates.length} of route ${routeName}`;
  return `${place}: ${words.join(', ')}${classes}${setAside}`;
}

function priorityOf(candidate: Candidate): number {
  return candidate.priority ?? 0;
}
