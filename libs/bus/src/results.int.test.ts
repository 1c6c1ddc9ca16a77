import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { eventually, useTestServers } from '@pawl/testkit';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { connectBus, type Bus } from './connect.ts';
import { adoptResult, openResult, putResult, removeCallResults, removeResult } from './results.ts';
import { stagedMsMax, sweepResults } from './sweep-results.ts';

const servers = useTestServers();
const stager = fileURLToPath(new URL('./fixtures/stager.ts', import.meta.url));
let here: Bus;
let there: Bus;

beforeAll(async () => {
  here = await connectBus({ url: servers.natsUrl, name: 'here' });
  there = await connectBus({ url: servers.natsUrl, name: 'there' });
});
afterAll(async () => {
  await here.close();
  await there.close();
});

async function* bytesOf(...texts: string[]) {
  for (const text of texts) yield Buffer.from(text);
}

async function read(of: string): Promise<string | undefined> {
  const stored = await openResult(there, of);
  return stored && Buffer.concat(await Array.fromAsync(stored.chunks)).toString();
}

const storedMessages = async () => (await here.jsm.streams.info('OBJ_pawl_results')).state.messages;
const sweepLater = () => sweepResults(there, { nowMs: Date.now() + stagedMsMax + 60_000, isForgotten: () => false });

describe('a result', () => {
  const ref = 'demo/run_1/0/1';

  test('is stored whole, replaced, adopted, and undefined where there is none', async () => {
    await putResult(here, { ref, contentType: 'image/png' }, bytesOf('ß'.repeat(1_500_000), 'ß'.repeat(1_500_000)));
    expect(await read(ref)).toBe('ß'.repeat(3_000_000));
    expect(await openResult(there, ref)).toMatchObject({ bytes: 6_000_000, contentType: 'image/png' });
    await putResult(here, { ref }, bytesOf('second'));
    expect(await read(ref)).toBe('second');
    await putResult(here, { ref: 'staged/a' }, bytesOf('third'));
    await adoptResult(here, 'staged/a', ref);
    expect([await read(ref), await read('staged/a')]).toEqual(['third', undefined]);
    await putResult(here, { ref }, bytesOf());
    expect(await read(ref)).toBe('');
    expect(await read('demo/run_1/9/9')).toBeUndefined();
    await removeResult(here, ref);
    expect(await storedMessages()).toBe(0);
  });

  test('is what any client of object stores reads', async () => {
    await putResult(here, { ref }, bytesOf('x'.repeat(300_000), 'y'));
    const blob = await there.results.getBlob(ref);
    expect(Buffer.from(blob ?? []).toString()).toBe(`${'x'.repeat(300_000)}y`);
    await removeResult(here, ref);
  });

  test('whose source breaks off leaves nothing', async () => {
    async function* breaking() {
      yield Buffer.alloc(300_000);
      throw new Error('broke off');
    }
    await expect(putResult(here, { ref: 'demo/run_2/0/0' }, breaking())).rejects.toThrow('broke off');
    expect(await storedMessages()).toBe(0);
  });

  test('that several write at once is one of theirs, and nothing of the others is left', async () => {
    const texts = Array.from({ length: 6 }, (_unused, at) => String(at).repeat(200_000));
    await Promise.all(texts.map((text, at) => putResult(at % 2 ? here : there, { ref }, bytesOf(text))));
    expect(texts).toContain(await read(ref));
    await removeResult(here, ref);
    expect(await storedMessages()).toBe(0);
  });

  test('goes with all of its call, also where a removal before was interrupted', async () => {
    const parts = [ref, `${ref}/text`, `${ref}/media-0`, `${ref}/media-1`, `${ref}/media-2`];
    for (const part of parts) await putResult(here, { ref: part }, bytesOf('a'));
    await removeResult(here, `${ref}/media-2`);
    await removeCallResults(here, ref);
    expect(await storedMessages()).toBe(0);
  });
});

describe('a sweep', () => {
  test('ends what a process that was killed left half-way, once it is old', async () => {
    const child = spawn(process.execPath, [stager, servers.natsUrl], { stdio: ['ignore', 'pipe', 'inherit'] });
    let printed = '';
    child.stdout.on('data', (chunk) => (printed += String(chunk)));
    await eventually(() => printed.split('hangs').length === 3, { withinMs: 15_000 });
    const exited = once(child, 'exit');
    child.kill('SIGKILL');
    await exited;
    const before = await storedMessages();
    expect(before).toBeGreaterThan(3);
    expect(await sweepResults(there, { nowMs: Date.now(), isForgotten: () => false })).toBe(0);
    expect(await storedMessages()).toBe(before);
    expect(await sweepLater()).toBe(3);
    expect(await storedMessages()).toBe(0);
  }, 30_000);

  describe('after a crash', () => {
    const drop = () => here.jsm.streams.deleteMessage;
    let original: ReturnType<typeof drop>;
    beforeEach(() => {
      original = drop();
      // As if the process were gone before the name that was staged goes.
      here.jsm.streams.deleteMessage = () => Promise.reject(new Error('gone'));
    });
    afterEach(() => void (here.jsm.streams.deleteMessage = original));

    test.for(['put', 'adopt'])('within the last moment of a %s leaves the result', async (how) => {
      const ref = `demo/run_3/0/${how}`;
      if (how === 'put') await putResult(here, { ref }, bytesOf('kept'));
      else {
        await putResult(here, { ref: 'staged/b' }, bytesOf('kept'));
        await adoptResult(here, 'staged/b', ref);
      }
      expect(await storedMessages()).toBe(3);
      expect(await sweepLater()).toBe(1);
      expect(await read(ref)).toBe('kept');
      await removeResult(there, ref);
      expect(await storedMessages()).toBe(0);
    });
  });

  test('ends the results of runs that are forgotten, and of no other', async () => {
    const refs = ['demo/run_4/0/0', 'demo/run_4/1/0/media-0', 'demo/run_5/0/0', 'other/run_4/0/0'];
    for (const ref of refs) await putResult(here, { ref }, bytesOf('a'.repeat(200_000)));
    const isForgotten = async ({ app, runId }: { app: string; runId: string }) => app === 'demo' && runId === 'run_4';
    expect(await sweepResults(there, { nowMs: Date.now(), isForgotten })).toBe(2);
    expect(await Promise.all(refs.map(async (ref) => (await read(ref)) !== undefined))).toEqual([
      false,
      false,
      true,
      true,
    ]);
    for (const ref of refs) await removeResult(here, ref);
    expect(await storedMessages()).toBe(0);
  });

  test('of an empty store is done at once', async () => {
    expect(await sweepLater()).toBe(0);
  });
});
