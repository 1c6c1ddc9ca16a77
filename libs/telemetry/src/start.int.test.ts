import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';

const script = fileURLToPath(new URL('fixtures/print-loaded.ts', import.meta.url));

async function loadedPackages(...args: string[]): Promise<string[]> {
  const { stdout } = await promisify(execFile)(process.execPath, [script, ...args], { timeout: 25_000 });
  return JSON.parse(stdout) as string[];
}

test('switched off, nothing of the SDK is loaded', async () => {
  expect(await loadedPackages()).toEqual(['@opentelemetry/api']);
});

test('switched on, spans reach the collector before the process ends', async () => {
  const bodies: Buffer[] = [];
  const collector = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.url === '/v1/traces') bodies.push(Buffer.concat(chunks));
      response.writeHead(200).end();
    });
  }).listen(0, '127.0.0.1');
  await once(collector, 'listening');
  const { port } = collector.address() as AddressInfo;
  expect(await loadedPackages(`http://127.0.0.1:${port}/`)).toContain('@opentelemetry/sdk-node');
  expect(bodies).toHaveLength(1);
  collector.close();
});

test('a collector that is not there neither fails nor holds up the end', async () => {
  expect(await loadedPackages('http://127.0.0.1:9')).toContain('@opentelemetry/sdk-node');
});
