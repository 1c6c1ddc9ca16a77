/** What the example values promise for production. */
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parse } from 'yaml';

const read = (path: string) => readFileSync(new URL(`../../deploy/chart/${path}`, import.meta.url), 'utf8');

test('what is shown for production keeps three copies, each on its disk before it is acknowledged', () => {
  const production = parse(read('examples/production.yaml')) as { nats: object };
  expect(production.nats).toMatchObject({ url: expect.stringMatching(/^tls:/), streamReplicas: 3 });
  const { config } = parse(read('examples/servers/nats-values.yaml')) as {
    config: { cluster: object; jetstream: { merge: object }; merge: { authorization: { users: object[] } } };
  };
  expect(config.cluster).toMatchObject({ enabled: true, replicas: 3 });
  expect(config.jetstream.merge).toEqual({ sync_interval: 'always' });
  expect(config.merge.authorization.users).toHaveLength(6);
  expect(read('files/nats.conf')).toContain('sync_interval: always');
});
