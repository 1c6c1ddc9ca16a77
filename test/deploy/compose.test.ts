/** compose.yaml against the schema of the Compose specification, and against what the services read, are built from and listen on. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { services } from '@pawl/contracts';
import { baseConfigShape } from '@pawl/service';
import { DCLinter } from 'dclint';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import * as gateway from '@pawl/llm-gateway/config';
import * as orchestrator from '@pawl/orchestrator/config';
import * as toolRunner from '@pawl/tool-runner/config';
import * as traceStore from '@pawl/trace-store/config';

const root = fileURLToPath(new URL('../..', import.meta.url));
const read = (path: string) => readFileSync(root + path, 'utf8');
const configs = { orchestrator, llmGateway: gateway, toolRunner, traceStore };

type ComposeService = {
  image: string;
  build?: { dockerfile: string; target: string };
  entrypoint?: string[];
  environment?: Record<string, string | number>;
  depends_on?: Record<string, { condition: string }>;
  healthcheck?: { test: string[] };
  ports?: string[];
  volumes?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  stop_grace_period?: string;
};
const compose = parse(read('compose.yaml'), { merge: true }) as { services: Record<string, ComposeService> };

/** The values that `docker compose` would fill in from an `.env` with these secrets. */
function filledIn(value: string | number): string {
  const withSecrets = String(value)
    .replaceAll(/\$\{POSTGRES_PASSWORD:\?[^}]*\}/g, 'p')
    .replaceAll(/\$\{PAWL_ADMIN_KEY:\?[^}]*\}/g, 'k');
  return withSecrets.replaceAll(/\$\{\w+:-([^}]*)\}/g, '$1');
}

test('it is what the Compose specification says, by a linter that knows its schema', () => {
  // How keys are sorted and quoted is a matter of taste; an image that is built here has a name all the same.
  const off = Object.fromEntries(
    [
      'no-build-and-image',
      'no-quotes-in-volumes',
      'service-dependencies-alphabetical-order',
      'service-keys-order',
      'services-alphabetical-order',
      'top-level-properties-order',
    ].map((rule) => [rule, 0 as const]),
  );
  const linter = new DCLinter({ rules: off, quiet: false, debug: false, exclude: [] });
  const results: { messages: unknown[] }[] = linter.lintFiles([`${root}compose.yaml`], false);
  expect(results.length).toBe(1);
  expect(results.flatMap(({ messages }) => messages)).toEqual([]);
});

test.each(services)(
  '$name: built from its target, configured by what it reads, hardened, and waits for its schema',
  (service) => {
    const { name, key, port } = service;
    const made = compose.services[name]!;
    const migration = compose.services[`migrate-${name}`]!;
    const build = { context: '.', dockerfile: 'deploy/images/Dockerfile', target: `pawl-${name}` };
    expect([made.build, migration.build]).toEqual([build, build]);
    expect(read(build.dockerfile)).toContain(` AS ${build.target}\n`);
    expect(made.image).toBe(migration.image);
    expect(migration.entrypoint).toEqual(['node', `services/${name}/src/migrate.ts`]);
    expect(read(`services/${name}/src/migrate.ts`)).not.toBe('');

    const environment = Object.fromEntries(Object.entries(made.environment ?? {}).map(([n, v]) => [n, filledIn(v)]));
    const known = new Set([...configs[key].variableNames, ...Object.keys(baseConfigShape)]);
    expect(Object.keys(environment).filter((variable) => !known.has(variable))).toEqual([]);
    expect(configs[key].loadConfig(environment)).toMatchObject({ PAWL_PORT: port, PAWL_ADMIN_KEY: 'k' });
    expect(environment['PAWL_DATABASE_URL']).toBe(filledIn(migration.environment!['PAWL_DATABASE_URL']!));

    for (const { read_only, cap_drop, security_opt } of [made, migration]) {
      expect({ read_only, cap_drop, security_opt }).toEqual({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      });
    }
    expect(made.depends_on).toEqual({
      nats: { condition: 'service_healthy' },
      [`migrate-${name}`]: { condition: 'service_completed_successfully' },
    });
    expect(made.healthcheck?.test.join(' ')).toContain(`http://127.0.0.1:${port}/healthz/ready`);
    const longestMs = Number(environment['PAWL_DRAIN_MS']) + 25_000 + 10_000;
    expect(Number.parseInt(made.stop_grace_period ?? '', 10) * 1_000).toBeGreaterThan(longestMs);
  },
);

test('only the door can be reached from outside, and from this machine alone', () => {
  const published = Object.entries(compose.services).flatMap(([name, { ports = [] }]) =>
    ports.map((port) => [name, port]),
  );
  expect(published).toEqual([['door', '127.0.0.1:7300:7300']]);
});

test('images of others have a version, and what is mounted is there', () => {
  const images = Object.values(compose.services).map(({ image }) => image);
  expect(images.filter((image) => !/:\d+\.\d+|:\d+-alpine|^pawl-[a-z-]+:\$\{PAWL_VERSION:-dev\}$/.test(image))).toEqual(
    [],
  );
  const mounts = Object.values(compose.services).flatMap(({ volumes = [] }) => volumes);
  const files = mounts.filter((mount) => mount.startsWith('./')).map((mount) => mount.split(':'));
  expect(files.length).toBe(3);
  for (const [file = '', , mode] of files) {
    expect(mode).toBe('ro');
    expect(read(file).length).toBeGreaterThan(50);
  }
});

test('secrets have to be given, and every variable that may be is in the example', () => {
  const asked = [...read('compose.yaml').matchAll(/\$\{([A-Z_]+)(:\?)?/g)];
  const needed = new Set(asked.filter(([, , sign]) => sign).map(([, name]) => name));
  expect(needed).toEqual(new Set(['POSTGRES_PASSWORD', 'PAWL_ADMIN_KEY']));
  const example = read('deploy/compose/example.env');
  for (const [, name = ''] of asked) expect(example).toMatch(new RegExp(`^#?${name}=`, 'm'));
  for (const name of needed) expect(example).toMatch(new RegExp(`^${name}=$`, 'm'));
});

test('the door leads in what the chart leads in, to the service that answers it', () => {
  type Routes = Record<string, { port: number; paths: string[]; exact: string[] }>;
  const routes = JSON.parse(read('deploy/chart/files/routes.json')) as Routes;
  const caddyfile = read('deploy/compose/Caddyfile');
  expect(Object.keys(routes).toSorted()).toEqual(services.map(({ name }) => name).toSorted());
  for (const [name, { port, paths, exact }] of Object.entries(routes)) {
    const matcher = new RegExp(`^\\t@${name} path (.*)$`, 'm').exec(caddyfile)?.[1];
    expect(matcher?.split(' ')).toEqual([...paths.flatMap((path) => [path, `${path}/*`]), ...exact]);
    expect(caddyfile).toContain(`reverse_proxy ${name}:${port} {\n`);
  }
});
