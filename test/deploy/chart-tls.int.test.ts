/** TLS to NATS and Postgres as the chart sets it up: by PEM files, with the server's name checked, and nothing without. */
import { execFile } from 'node:child_process';
import { chmod, chown, copyFile, mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { connectBus } from '@pawl/bus';
import { connectDatabase } from '@pawl/db';
import { startPostgres, type PostgresServer } from '@pawl/devstack';
import { busOptionsOf, databaseOptionsOf } from '@pawl/service';
import { loadConfig } from '@pawl/orchestrator/config';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startGuardedNats, type GuardedNats } from './chart-nats-server.ts';

const run = promisify(execFile);
let folder = '';
let nats: GuardedNats | undefined;
let postgres: PostgresServer;
let hasOpenssl = false;

beforeAll(async () => {
  hasOpenssl = await run('openssl', ['version']).then(
    () => true,
    () => false,
  );
  if (!hasOpenssl) return;
  folder = await mkdtemp(join(tmpdir(), 'pawl-tls-'));
  await Promise.all(['authority', 'stranger'].map(makeAuthority));
  await Promise.all(['server', 'client'].map(makeCertificate));
  const pem = (name: string) => JSON.stringify(join(folder, name));
  nats = await startGuardedNats({
    toolSubjects: [],
    more: `tls { cert_file: ${pem('server.crt')}, key_file: ${pem('server.key')}, ca_file: ${pem('authority.crt')}, verify: true }`,
  });
  postgres = await startPostgres({ dataDir: join(folder, 'postgres'), durable: false });
  await switchOnTls();
}, 120_000);
afterAll(async () => {
  await nats?.stop();
  await postgres?.stop({ remove: true });
  await rm(folder, { recursive: true, force: true });
});
beforeEach((context) => {
  if (!hasOpenssl) context.skip('openssl, which makes the certificates, is not installed');
});

async function makeAuthority(name: string): Promise<void> {
  const files = ['-keyout', `${name}.key`, '-out', `${name}.crt`];
  await run(
    'openssl',
    ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', `/CN=${name}`, ...files],
    {
      cwd: folder,
    },
  );
}

async function makeCertificate(name: string): Promise<void> {
  const request = [
    'req',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-subj',
    `/CN=${name}`,
    '-addext',
    'subjectAltName=DNS:localhost',
  ];
  await run('openssl', [...request, '-keyout', `${name}.key`, '-out', `${name}.csr`], { cwd: folder });
  const sign = [
    'x509',
    '-req',
    '-in',
    `${name}.csr`,
    '-CA',
    'authority.crt',
    '-CAkey',
    'authority.key',
    '-CAcreateserial',
  ];
  await run(
    'openssl',
    [...sign, '-CAserial', `${name}.srl`, '-copy_extensions', 'copy', '-days', '2', '-out', `${name}.crt`],
    {
      cwd: folder,
    },
  );
}

/** The files have to be the server's own, which may run as another user. */
async function switchOnTls(): Promise<void> {
  const dataDir = join(folder, 'postgres');
  const database = connectDatabase({ url: postgres.url, applicationName: 'test' });
  const [place] = await database.query<{ data_directory: string }>('show data_directory');
  const target = place?.data_directory ?? dataDir;
  const { uid, gid } = await stat(target);
  for (const name of ['server.crt', 'server.key']) {
    await copyFile(join(folder, name), join(target, name));
    await chmod(join(target, name), 0o600);
    await chown(join(target, name), uid, gid);
  }
  await database.query("alter system set ssl = 'on'");
  await database.query('select pg_reload_conf()');
  await database.close();
}

const file = (name: string) => join(folder, name);
const named = (url: string) => url.replace('127.0.0.1', 'localhost');

function configOf(more: Record<string, string>) {
  return loadConfig({
    PAWL_NATS_URL: named(nats?.url ?? ''),
    PAWL_DATABASE_URL: named(postgres.url),
    ...nats?.environmentOf('orchestrator'),
    ...more,
  });
}

test('NATS is reached with the authority and a certificate of its own', async () => {
  const files = {
    PAWL_NATS_CA_FILE: file('authority.crt'),
    PAWL_NATS_CERT_FILE: file('client.crt'),
    PAWL_NATS_KEY_FILE: file('client.key'),
  };
  const bus = await connectBus({ ...busOptionsOf(configOf(files)), name: 'test' });
  expect(bus.connection.info?.tls_required).toBe(true);
  expect(bus.partitions).toBe(8);
  await bus.close();
});

test('Postgres is reached encrypted, by a name that its certificate has', async () => {
  const config = configOf({ PAWL_DATABASE_CA_FILE: file('authority.crt') });
  const database = connectDatabase({ ...databaseOptionsOf(config), applicationName: 'test' });
  const rows = await database.query<{ ssl: boolean }>('select ssl from pg_stat_ssl where pid = pg_backend_pid()');
  expect(rows).toEqual([{ ssl: true }]);
  await database.close();
});

test.for([
  ['another authority', 'localhost', 'stranger.crt', /self-signed|unable to verify|certificate/i],
  ['another name', '127.0.0.1', 'authority.crt', /altnames|does not match/i],
] as const)('Postgres with %s is refused', async ([, host, authority, reason]) => {
  const url = postgres.url.replace('127.0.0.1', host);
  const database = connectDatabase({ url, caFile: file(authority), applicationName: 'test' });
  const failure: unknown = await database.query('select 1').catch((error: unknown) => error);
  const cause =
    failure instanceof Error ? `${failure.message} ${String((failure.cause as Error | undefined)?.message)}` : '';
  expect(cause).toMatch(reason);
  await database.close();
});
