/** The door of compose.yaml, run by Caddy: every path reaches the service that answers it, and nothing is held back. */
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { services } from '@pawl/contracts';
import { ensurePrograms, freePort } from '@pawl/devstack';
import { eventually, hasTimeForPeers } from '@pawl/testkit';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';

const file = fileURLToPath(new URL('../../deploy/compose/Caddyfile', import.meta.url));
const upstreams: Server[] = [];
const goOn = Promise.withResolvers<void>();
let reason: string | undefined;
let folder = '';
let url = '';
let caddy: ChildProcess | undefined;

/** Says its name and what it was asked for; at `/events` a first line, and a second when it is told to. */
async function startUpstream(name: string): Promise<number> {
  const server = createServer((request, response) => {
    if (!request.url?.endsWith('/events')) return response.end(`${name} ${request.url}`);
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    response.write('first\n');
    void goOn.promise.then(() => response.end('second\n'));
    return response;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  upstreams.push(server);
  return (server.address() as AddressInfo).port;
}

beforeAll(async () => {
  reason = hasTimeForPeers() ? await ensurePrograms({ caddy: 'caddy' }) : 'npm run test:full installs caddy';
  if (reason !== undefined) return;
  folder = await mkdtemp(join(tmpdir(), 'pawl-door-'));
  let text = await readFile(file, 'utf8');
  for (const { name, port } of services) {
    text = text.replaceAll(`${name}:${port}`, `127.0.0.1:${await startUpstream(name)}`);
  }
  const port = await freePort();
  await writeFile(join(folder, 'Caddyfile'), text.replace(':7300 {', `http://127.0.0.1:${port} {`));
  const environment = { PATH: process.env['PATH'], HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const args = ['run', '--adapter', 'caddyfile', '--config', join(folder, 'Caddyfile')];
  caddy = spawn('caddy', args, { env: environment, stdio: 'ignore' });
  url = `http://127.0.0.1:${port}`;
  await eventually(() => fetch(url).then(({ ok }) => ok), { withinMs: 30_000, what: 'the door is open' });
}, 300_000);
afterAll(async () => {
  caddy?.kill();
  for (const server of upstreams) server.close();
  if (folder !== '') await rm(folder, { recursive: true, force: true });
});
beforeEach((context) => {
  if (reason !== undefined) context.skip(reason);
});

const ask = async (path: string) => {
  const response = await fetch(url + path);
  return { status: response.status, text: await response.text() };
};

test.each(services)('what belongs to $name gets there, with its whole path', async ({ name, paths }) => {
  for (const path of paths.flatMap((each) => [each, `${each}/a/b?c=d`])) {
    expect(await ask(path)).toEqual({ status: 200, text: `${name} ${path}` });
  }
});

test.each(['/', '/runs/run_1', '/page/assets/a.js', '/healthz/ready'])('%s is the page’s', async (path) => {
  expect(await ask(path)).toEqual({ status: 200, text: `trace-store ${path}` });
});

test.each(['/metrics', '/openapi.json', '/healthz/live', '/v1/runsome', '/v1'])('%s stays inside', async (path) => {
  expect((await ask(path)).status).toBe(404);
});

test('an event arrives while its stream goes on', async () => {
  const response = await fetch(`${url}/v1/runs/run_1/events`);
  const reader = response.body!.pipeThrough(new TextDecoderStream()).getReader();
  expect((await reader.read()).value).toBe('first\n');
  goOn.resolve();
  expect((await reader.read()).value).toBe('second\n');
});
