import { Readable } from 'node:stream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openResult, putResult } from '@pawl/bus';
import type { Fact } from '@pawl/contracts';
import { eventually, useTestServers } from '@pawl/testkit';
import { runIdAt, salesRunFacts } from '../testing/sales-run.ts';
import { adminKey, startStore, type StartedStore } from '../testing/start-store.ts';

const servers = useTestServers();
let store: StartedStore;

beforeAll(async () => {
  store = await startStore(servers);
  await store.putKey('demo');
});
afterAll(() => store?.stop());

/** How many facts of a run have a body in the object store. */
async function bodiesOf(runId: string): Promise<number> {
  const entries = await store.bus.claims.list();
  return entries.filter(({ metadata }) => metadata?.['subject']?.includes(runId)).length;
}

test('with a run that is erased go the whole results of its tools and the bodies of its facts, and no other', async () => {
  const startedAt = new Date().toISOString();
  const refOf = (runId: string) => `demo/${runId}/0.0`;
  const [erased, kept] = ['erased', 'kept'].map((seed) => runIdAt(startedAt, seed)) as [string, string];
  for (const [runId, user] of [
    [erased, 'lin.wei'],
    [kept, 'someone.else'],
  ] as const) {
    await putResult(store.bus, { ref: refOf(runId) }, Readable.from([Buffer.from('Customer A, South China')]));
    // Pictures of a call whose observation names none of them.
    for (const part of ['media-0', 'media-1', 'text']) {
      const ref = `demo/${runId}/0/0/${part}`;
      await putResult(store.bus, { ref, contentType: 'image/png' }, Readable.from([Buffer.from('a picture')]));
    }
    const facts = salesRunFacts({ runId, startedAt }).map((fact): Fact => {
      // Too large for a message.
      if (fact.kind === 'started') return { ...fact, user: { id: user }, input: 'Why? '.repeat(400_000) };
      // The other run is named, too, as the answer of a sub-run would name it.
      const ref = fact.kind === 'observed' && fact.m > 0 ? refOf(kept) : refOf(runId);
      return fact.kind === 'observed' ? { ...fact, observation: { ...fact.observation, ref } } : fact;
    });
    await store.publish(facts);
    await eventually(async () => (await store.countOf(runId)) === facts.length, { withinMs: 60_000 });
  }
  expect([await bodiesOf(erased), await bodiesOf(kept)]).toEqual([1, 1]);
  const asked = await store.ask('POST', '/v1/traces/erasures?app=demo', { key: adminKey, body: { user: 'lin.wei' } });
  expect(asked.status).toBe(202);
  await eventually(async () => (await store.countOf(erased)) === 0, { withinMs: 60_000 });
  expect(await openResult(store.bus, refOf(erased))).toBeUndefined();
  for (const part of ['media-0', 'media-1', 'text']) {
    expect(await openResult(store.bus, `demo/${erased}/0/0/${part}`), part).toBeUndefined();
    expect(await openResult(store.bus, `demo/${kept}/0/0/${part}`), part).toBeDefined();
  }
  expect(await openResult(store.bus, refOf(kept))).toMatchObject({ bytes: 23 });
  expect([await bodiesOf(erased), await bodiesOf(kept)]).toEqual([0, 1]);
});
