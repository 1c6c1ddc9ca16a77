import { expect, it } from 'vitest';
import type { ModelRouteSpec } from '@pawl/contracts';
import type { ModelRequest } from '../call/model-request.ts';
import { requestOfWork } from '../think/request-of-work.ts';
import { thinkWork } from '../testing/gateway-bench.ts';
import { cacheKeyOf } from './cache-key.ts';

const spec: ModelRouteSpec = { candidates: [{ provider: 'p', model: 'm' }], cache: { ttl: '1h' } };
const base = { ...requestOfWork(thinkWork()), options: { temperature: 0, seed: 1 } };
const keyOf = (changes: Partial<ModelRequest> = {}, of = spec) => cacheKeyOf({ ...base, ...changes }, of);

it('is there only where the route allows it, without tools and chance', () => {
  expect(keyOf()).toMatch(/^[0-9a-f]{64}$/);
  expect(keyOf({}, { candidates: spec.candidates })).toBeUndefined();
  expect(keyOf({ tools: [{}] })).toBeUndefined();
  expect(keyOf({ options: { temperature: 0.1 } })).toBeUndefined();
  expect(keyOf({ options: {} })).toBeUndefined();
  expect(keyOf({ operation: 'embeddings', options: { input: 'x' } })).toBeDefined();
});

it('is the same for the same request, and another for any other', () => {
  expect(keyOf({ options: { seed: 1, temperature: 0 } })).toBe(keyOf());
  const others = [
    keyOf({ messages: [] }),
    keyOf({ options: { temperature: 0, seed: 2 } }),
    keyOf({ spender: { ...base.spender, app: 'other' } }),
    keyOf({ spender: { ...base.spender, userId: 'eve' } }),
    keyOf({ outputTokensMax: 1 }),
    keyOf({ choices: 2 }),
    keyOf({}, { ...spec, candidates: [{ provider: 'p', model: 'other' }] }),
  ];
  expect(new Set([keyOf(), ...others]).size).toBe(others.length + 1);
});
