import { RejectedError, sha256, UnavailableError, type Definition, type DataSource, type Tool } from '@pawl/contracts';
import { eventually, startBreakableNats, type BreakableNats } from '@pawl/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { connectBus, type Bus } from './connect.ts';
import { createDefinitions } from './definitions.ts';
import { connectKeys } from './keys.ts';
import { connectRegistry } from './registry.ts';

let nats: BreakableNats;
let here: Bus;
let there: Bus;

beforeAll(async () => {
  nats = await startBreakableNats();
  [here, there] = await Promise.all([
    connectBus({ url: nats.url, name: 'here' }),
    connectBus({ url: nats.url, name: 'there' }),
  ]);
});
afterAll(async () => {
  await Promise.all([here.close(), there.close()]);
  await nats.stop();
});

function source(name: string, url = 'postgres://x', app = 'demo'): DataSource {
  return { apiVersion: 'pawl.dev/v1', kind: 'DataSource', metadata: { app, name }, spec: { postgres: { url } } };
}

const connect = () => Promise.all([connectRegistry(here), connectRegistry(there)]);

describe('registry', () => {
  test('a put is found at once here and very soon there; the same content has the same revision', async () => {
    const [mine, theirs] = await connect();
    const heard: string[] = [];
    theirs.onChange(({ kind, app, name }) => void heard.push(`${kind} ${app} ${name}`));
    const first = await mine.put(source('a'));
    expect(mine.find('DataSource', 'demo', 'a')).toEqual(first);
    await eventually(() => theirs.find('DataSource', 'demo', 'a')?.revision === first.revision, { withinMs: 1_000 });
    expect(heard).toEqual(['DataSource demo a']);
    expect((await theirs.put(source('a'))).revision).toBe(first.revision);
    expect((await theirs.put(source('a', 'postgres://y'))).revision).not.toBe(first.revision);
    mine.close();
    theirs.close();
  });

  test('kinds, apps and names keep to themselves; a removed object is gone here and there, and may come again', async () => {
    const [mine, theirs] = await connect();
    await mine.put(source('b'));
    await mine.put(source('b', 'postgres://x', 'other'));
    expect(mine.find('Tool', 'demo', 'b')).toBeUndefined();
    expect(mine.list('DataSource', 'other').map(({ object }) => object.metadata.name)).toEqual(['b']);
    await eventually(() => theirs.find('DataSource', 'demo', 'b'));
    expect(await mine.remove('DataSource', 'demo', 'b')).toBe(true);
    expect(mine.find('DataSource', 'demo', 'b')).toBeUndefined();
    expect(await mine.remove('DataSource', 'demo', 'b')).toBe(false);
    await eventually(() => theirs.find('DataSource', 'demo', 'b') === undefined);
    expect(theirs.find('DataSource', 'other', 'b')).toBeDefined();
    await mine.put(source('b'));
    expect(mine.find('DataSource', 'demo', 'b')).toBeDefined();
    mine.close();
    theirs.close();
  });

  test('the last of many quick writes from both sides is what both end with', async () => {
    const [mine, theirs] = await connect();
    await Promise.all(
      Array.from({ length: 40 }, (_, i) => (i % 2 ? mine : theirs).put(source('busy', `postgres://${i}`))),
    );
    const entry = await here.registry.get('demo.data-sources.busy');
    const { revision } = JSON.parse(entry!.string()) as { revision: string };
    for (const registry of [mine, theirs]) {
      await eventually(() => registry.find('DataSource', 'demo', 'busy')?.revision === revision);
    }
    mine.close();
    theirs.close();
  });

  test('a listener that throws and values that make no sense do not end the watch', async () => {
    const warnings: unknown[] = [];
    const onWarning = (warning: unknown) => void warnings.push(warning);
    process.on('warning', onWarning);
    await here.registry.put('demo.data-sources.broken', 'no JSON');
    const [mine, theirs] = await connect();
    theirs.onChange(() => {
      throw new TypeError('a listener with a bug');
    });
    await here.registry.put('demo.data-sources.broken', '{"revision": 1}');
    await here.registry.put('strange', new Uint8Array([0xff]));
    await mine.put(source('c'));
    await eventually(() => theirs.find('DataSource', 'demo', 'c'));
    expect(theirs.find('DataSource', 'demo', 'broken')).toBeUndefined();
    expect(theirs.list('DataSource', 'demo').map(({ object }) => object.metadata.name)).not.toContain('broken');
    await eventually(() => warnings.length > 0);
    process.off('warning', onWarning);
    mine.close();
    theirs.close();
  });

  test('what changed during an outage of the server is seen after it', async () => {
    const [mine, theirs] = await connect();
    await mine.put(source('d'));
    await eventually(() => theirs.find('DataSource', 'demo', 'd'));
    await nats.kill();
    await nats.restart();
    await eventually(() => here.isConnected() && there.isConnected());
    const { revision } = await eventually(() => mine.put(source('d', 'postgres://new')).catch(() => undefined));
    await eventually(() => theirs.find('DataSource', 'demo', 'd')?.revision === revision);
    mine.close();
    theirs.close();
  }, 40_000);

  test('an object that does not fit into a message is refused with a code', async () => {
    const registry = await connectRegistry(here);
    const large: Tool = {
      apiVersion: 'pawl.dev/v1',
      kind: 'Tool',
      metadata: { app: 'demo', name: 'large' },
      spec: { description: 'x', parameters: { x: 'y'.repeat(1_100_000) }, builtin: { name: 'calculator' } },
    };
    await expect(registry.put(large)).rejects.toThrow(
      expect.objectContaining({ name: 'RejectedError', code: 'body_too_large' }),
    );
    expect(RejectedError).toBeDefined();
    registry.close();
  });
});

describe('keys', () => {
  test('are found by the key itself, until they expire or are removed; apps follow from them', async () => {
    const [mine, theirs] = await Promise.all([connectKeys(here), connectKeys(there)]);
    let changes = 0;
    theirs.onChange(() => void (changes += 1));
    const record = { id: 'k1', app: 'demo', scopes: ['*' as const], expiresAt: null };
    await mine.put(sha256('secret'), record);
    await mine.put(sha256('old'), { ...record, id: 'k2', app: 'old', expiresAt: '2020-01-01T00:00:00.000Z' });
    await mine.put(sha256('odd'), { ...record, id: 'k3', app: 'odd', expiresAt: 'never' });
    expect(mine.find('secret')).toEqual(record);
    await eventually(() => theirs.find('secret'));
    await eventually(() => changes === 3);
    expect(theirs.find('old')).toBeUndefined();
    expect(theirs.find('odd')).toBeUndefined();
    expect(theirs.find(sha256('secret'))).toBeUndefined();
    expect(theirs.apps().toSorted()).toEqual(['demo', 'odd', 'old']);
    await mine.remove(sha256('secret'));
    expect(mine.find('secret')).toBeUndefined();
    await eventually(() => theirs.find('secret') === undefined);
    mine.close();
    theirs.close();
  });
});

describe('definitions', () => {
  const definition = (description: string): Definition => ({
    v: 1,
    agent: {
      revision: 'a'.repeat(64),
      object: {
        apiVersion: 'pawl.dev/v1',
        kind: 'Agent',
        metadata: { app: 'demo', name: 'analyst' },
        spec: { instructions: 'x', description, models: { think: 'smart' } },
      },
    },
    tools: Array.from({ length: 300 }, (_, i) => ({
      revision: 'b'.repeat(64),
      object: {
        apiVersion: 'pawl.dev/v1',
        kind: 'Tool',
        metadata: { app: 'demo', name: `tool_${i}` },
        spec: { description: 'd'.repeat(9_000), builtin: { name: 'calculator' } },
      },
    })),
  });

  test('a definition of several megabytes is read elsewhere under its hash', async () => {
    const large = definition('large');
    const hash = await createDefinitions(here).put(large);
    expect(await createDefinitions(there).get(hash)).toEqual(large);
    expect(await createDefinitions(there).put(large)).toBe(hash);
    await expect(createDefinitions(there).get('0'.repeat(64))).rejects.toThrow(UnavailableError);
  });
});
