import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Candidate, ModelRouteSpec } from '@pawl/contracts';
import { rankCandidates, type EndpointState, type Needs, type Ranking } from './rank-candidates.ts';

const candidate = (model: string, rest: Partial<Candidate> = {}): Candidate => ({ provider: 'p', model, ...rest });
const noNeeds: Needs = { dataClasses: [], hasTools: false, hasSchema: false, hasImages: false, inputTokens: 0 };
const fresh: EndpointState = { isHealthy: true, firstTokenMs: undefined, likelyCost: 1n };

type Circumstances = {
  spec?: Partial<ModelRouteSpec>;
  needs?: Partial<Needs>;
  states?: Record<string, Partial<EndpointState>>;
  chance?: () => number;
};

function rank(candidates: Candidate[], { spec, needs, states, chance = () => 0.5 }: Circumstances = {}): Ranking {
  return rankCandidates({
    routeName: 'smart',
    spec: { candidates, ...spec },
    needs: { ...noNeeds, ...needs },
    stateOf: ({ model }) => ({ ...fresh, ...states?.[model] }),
    chance,
  });
}
const order = (ranking: Ranking) =>
  'ranked' in ranking ? ranking.ranked.map(({ candidate: { model } }) => model) : [];
const reason = (ranking: Ranking) => ('ranked' in ranking ? ranking.ranked[0].reason : ranking.message);

describe('the order of candidates', () => {
  it('is by priority, then as listed, and says why', () => {
    const ranking = rank([
      candidate('late', { priority: 2 }),
      candidate('a', { priority: 1 }),
      candidate('b', { priority: 1 }),
    ]);
    expect(order(ranking)).toEqual(['a', 'b', 'late']);
    expect(reason(ranking)).toBe('candidate 2 of 3 of route smart: priority 1, in listed order');
    expect(order(rank([candidate('one', { priority: 1 }), candidate('none')]))).toEqual(['none', 'one']);
    expect(reason(rank([candidate('one')]))).toBe('the only candidate of route smart');
  });

  it('gives each candidate the share of its weight, and none to a weight of 0', () => {
    let state = 1;
    const chance = () => (state = (state * 48_271) % 2_147_483_647) / 2_147_483_647;
    const canary = [
      candidate('stable', { weight: 9 }),
      candidate('canary', { weight: 1 }),
      candidate('spare', { weight: 0 }),
    ];
    const firsts = Array.from({ length: 4_000 }, () => order(rank(canary, { chance }))[0]);
    const share = firsts.filter((model) => model === 'canary').length / firsts.length;
    expect(share).toBeGreaterThan(0.07);
    expect(share).toBeLessThan(0.13);
    expect(firsts).not.toContain('spare');
    expect(order(rank(canary, { chance })).at(-1)).toBe('spare');
  });

  it('is by price or by speed where the route says so', () => {
    const candidates = [candidate('a'), candidate('b'), candidate('c')];
    const states = {
      a: { likelyCost: 5n, firstTokenMs: 10 },
      b: { likelyCost: 2n, firstTokenMs: 30 },
      c: { firstTokenMs: 20 },
    };
    const unpriced = { ...states, c: { ...states.c, likelyCost: undefined } };
    expect(order(rank(candidates, { spec: { strategy: 'cheapest' }, states: unpriced }))).toEqual(['b', 'a', 'c']);
    expect(order(rank(candidates, { spec: { strategy: 'fastest' }, states }))).toEqual(['a', 'c', 'b']);
  });

  it('puts endpoints that failed of late last, and never away', () => {
    const states = { a: { isHealthy: false } };
    expect(order(rank([candidate('a'), candidate('b', { priority: 9 })], { states }))).toEqual(['b', 'a']);
    expect(
      reason(rank([candidate('a'), candidate('b')], { states: { ...states, b: { isHealthy: false } } })),
    ).toContain('although it failed of late');
  });
});

describe('who is set aside', () => {
  it('is who lacks what the call needs', () => {
    const candidates = [
      candidate('plain', { capabilities: { tools: false, jsonSchema: false, images: false, contextTokens: 1_000 } }),
      candidate('able', { priority: 1 }),
    ];
    expect(order(rank(candidates))).toEqual(['plain', 'able']);
    for (const needs of [{ hasTools: true }, { hasSchema: true }, { hasImages: true }, { inputTokens: 1_001 }]) {
      expect(order(rank(candidates, { needs }))).toEqual(['able']);
    }
    expect(rank(candidates.slice(0, 1), { needs: { hasTools: true } })).toEqual({
      blocked: 'not_supported',
      message: 'route smart has no model for this call: plain takes no tools',
    });
    expect(order(rank(candidates, { needs: { model: 'able' } }))).toEqual(['able']);
  });

  it('I14: is whoever is not allowed for every class of the data, whatever else holds', () => {
    const classes = fc.subarray(['personal', 'health', 'finance']);
    fc.assert(
      fc.property(
        fc.array(classes, { minLength: 1, maxLength: 6 }),
        classes,
        fc.boolean(),
        (allowed, dataClasses, isHealthy) => {
          const candidates = allowed.map((of, position) =>
            candidate(`m${position}`, { dataClasses: of, priority: 6 - position }),
          );
          const ranking = rank(candidates, { needs: { dataClasses }, states: { m0: { isHealthy } } });
          const fitting = candidates.filter((one) => dataClasses.every((of) => one.dataClasses?.includes(of)));
          expect(order(ranking).toSorted()).toEqual(fitting.map(({ model }) => model).toSorted());
          expect('blocked' in ranking && ranking.blocked).toBe(fitting.length === 0 && 'residency_blocked');
        },
      ),
    );
    const needs = { dataClasses: ['personal'] };
    const restricted = [candidate('anywhere'), candidate('clinic', { dataClasses: ['health'] })];
    expect(rank(restricted, { needs })).toMatchObject({ blocked: 'residency_blocked' });
    expect(order(rank([candidate('anywhere')], { needs }))).toEqual(['anywhere']);
  });
});
