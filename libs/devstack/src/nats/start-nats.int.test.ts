/**
 * A real nats-server: it keeps its streams, listens on the loopback address only, and says why it can't start.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from '@nats-io/transport-node';
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureNatsServer } from './ensure-nats-server.ts';
import { startNats } from './start-nats.ts';

let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'pawl-nats-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('streams survive a stop and a start on another port', async () => {
  const dataDir = join(folder, 'kept');
  const first = await startNats({ dataDir });
  expect(first.url).toMatch(/^nats:\/\/127\.0\.0\.1:\d+$/);
  const writer = await connect({ servers: first.url });
  await (await jetstreamManager(writer)).streams.add({ name: 'KEPT', subjects: ['kept'] });
  await jetstream(writer).publish('kept', 'hello');
  await writer.close();
  await first.stop();

  const second = await startNats({ dataDir });
  const reader = await connect({ servers: second.url });
  const { state } = await (await jetstreamManager(reader)).streams.info('KEPT');
  await reader.close();
  await second.stop();
  expect(state.messages).toBe(1);
});

test('two servers side by side do not meet', async () => {
  const [a, b] = await Promise.all([
    startNats({ dataDir: join(folder, 'a') }),
    startNats({ dataDir: join(folder, 'b') }),
  ]);
  expect(a.port).not.toBe(b.port);
  await Promise.all([a.stop(), b.stop()]);
});

test('a taken port is an error with the end of its log', async () => {
  const stranger = createServer().listen(0, '127.0.0.1');
  await once(stranger, 'listening');
  const { port } = stranger.address() as AddressInfo;
  await expect(startNats({ dataDir: join(folder, 'taken'), port })).rejects.toThrow(/address already in use/);
  stranger.close();
});

test('a program is found by its folder', async () => {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  writeFileSync(join(bin, 'nats-server'), '#!/bin/sh\n', { mode: 0o755 });
  expect(await ensureNatsServer({ folders: ['', join(folder, 'empty'), bin] })).toBe(join(bin, 'nats-server'));
});

test('without a program and without apt the message names three ways', async () => {
  await expect(ensureNatsServer({ folders: [folder] })).rejects.toThrow(
    /brew install nats-server[^]*nats-io\/nats-server\/releases[^]*PAWL_NATS_URL/,
  );
});
