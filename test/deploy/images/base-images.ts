/**
 * Bases for the Dockerfile, made of this machine's Node and npm and of Debian packages, in the place of those that the
 * Dockerfile names: what is built on them needs no registry of images.
 */
import { execFile } from 'node:child_process';
import { cp, mkdir, realpath, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { ContainerEngine } from './container-engine.ts';

export const buildImage = 'localhost/pawl-test-build';
export const runtimeImage = 'localhost/pawl-test-runtime';

const run = promisify(execFile);
const certificates = '/etc/ssl/certs/ca-certificates.crt';

const buildFile = `
FROM scratch
ADD build.tar /
COPY ca-certificates.crt ${certificates}
COPY node /usr/local/bin/node
COPY npm /usr/local/lib/node_modules/npm
COPY npmrc /usr/local/etc/npmrc
ENV PATH=/usr/local/bin:/usr/bin:/bin NODE_EXTRA_CA_CERTS=${certificates}
RUN ln -s ../lib/node_modules/npm/bin/npm-cli.js /usr/local/bin/npm
`;

const runtimeFile = `
FROM scratch
ADD runtime.tar /
COPY ca-certificates.crt ${certificates}
ENV PATH=/usr/local/bin:/usr/bin:/bin
`;

/** Makes both. The one that services run on has no shell. */
export async function makeBaseImages(engine: ContainerEngine): Promise<void> {
  const folder = join(engine.folder, 'bases');
  await mkdir(folder);
  const libraries = ['libc6', 'libstdc++6', 'base-files', 'tzdata'];
  await engine.unpackDebian(libraries, join(folder, 'runtime.tar'));
  await engine.unpackDebian([...libraries, 'dash', 'coreutils', 'findutils'], join(folder, 'build.tar'));
  await cp(await realpath(process.execPath), join(folder, 'node'));
  await cp(await findNpm(), join(folder, 'npm'), { recursive: true, dereference: true });
  await cp(certificates, join(folder, 'ca-certificates.crt'), { dereference: true });
  const { stdout: registry } = await run('npm', ['config', 'get', 'registry']);
  await writeFile(join(folder, 'npmrc'), `registry=${registry.trim()}\n`);
  for (const [image, text] of [
    [buildImage, buildFile],
    [runtimeImage, runtimeFile],
  ] as const) {
    const file = join(folder, 'Dockerfile');
    await writeFile(file, text);
    await engine.buildah('bud', '--quiet', '--tag', image, '--file', file, folder);
  }
}

/** The folder of npm's package, from the program on PATH. */
async function findNpm(): Promise<string> {
  const { stdout } = await run('sh', ['-c', 'command -v npm']);
  return dirname(dirname(await realpath(stdout.trim())));
}
