/** Pictures and long results by reference: kept out of what the model sees, and served to people without harm. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connectKeys } from '@pawl/bus';
import { sha256, type Observed } from '@pawl/contracts';
import { useTestServers } from '@pawl/testkit';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openRunnerBench, toolOf, type RunnerBench } from '../testing/runner-bench.ts';

const servers = useTestServers();
const picture = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(2_000_000, 7)]);
let bench: RunnerBench;
let files: Server;

beforeAll(async () => {
  bench = await openRunnerBench(servers);
  const keys = await connectKeys(bench.bus);
  for (const [app, scopes] of [
    ['demo', ['traces']],
    ['other', ['*']],
  ] as const) {
    await keys.put(sha256(`reader-of-${app}`), { id: `key_${app}`, app, scopes: [...scopes], expiresAt: null });
  }
  keys.close();
  files = createServer((request, response) => {
    const type = new URL(request.url ?? '/', 'http://x').searchParams.get('type') ?? '';
    const body = type === 'image/png' ? picture : '<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>';
    response.writeHead(200, { 'content-type': type }).end(body);
  });
  await new Promise<void>((resolve) => files.listen(0, '127.0.0.1', resolve));
});
afterAll(async () => {
  files.closeAllConnections();
  files.close();
  await bench.close();
});

async function fetched(type: string): Promise<Observed> {
  const url = `http://127.0.0.1:${(files.address() as AddressInfo).port}/?type=${encodeURIComponent(type)}`;
  return await bench.observe(toolOf('file', { http: { method: 'GET', url } }));
}

const get = async (ref: string, key = 'reader-of-demo') =>
  await fetch(`${bench.url}/v1/tools/results/${ref.slice(ref.indexOf('/') + 1)}`, {
    headers: { authorization: `Bearer ${key}` },
  });

describe('results by reference', () => {
  test('C8: a picture of 2 MB is a reference for the model, and the picture for people', async () => {
    const { observation } = await fetched('image/png');
    expect(observation.data?.length).toBeLessThan(300);
    const { ref, ...told } = JSON.parse(observation.data ?? '') as { ref: string };
    expect(told).toEqual({ contentType: 'image/png', bytes: picture.length });
    const response = await get(ref);
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-disposition': 'inline',
      'content-length': String(picture.length),
      'x-content-type-options': 'nosniff',
      'content-security-policy': "sandbox; default-src 'none'",
    });
    expect(Buffer.from(await response.arrayBuffer()).equals(picture)).toBe(true);
  });

  test.each(['image/svg+xml', 'application/pdf', 'application/xhtml'])('%s is a download', async (type) => {
    const { observation } = await fetched(type);
    const { ref } = JSON.parse(observation.data ?? '') as { ref: string };
    const response = await get(ref);
    expect(response.headers.get('content-type')).toBe('application/octet-stream');
    expect(response.headers.get('content-disposition')).toMatch(/^attachment/);
  });

  test('R21: the results of another app, and what is none, are not there', async () => {
    const { observation } = await fetched('image/png');
    const { ref } = JSON.parse(observation.data ?? '') as { ref: string };
    expect((await get(ref, 'reader-of-other')).status).toBe(404);
    expect((await get(ref.replace(/media-0$/, 'media-7'))).status).toBe(404);
    expect((await get(ref, 'key-of-demo')).status).toBe(403);
    expect((await get(ref, 'nobody')).status).toBe(401);
    expect((await get('demo/..%2F..%2Fother/0/0')).status).toBe(400);
  });
});
