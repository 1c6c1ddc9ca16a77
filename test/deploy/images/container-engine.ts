/**
 * Buildah and Podman with a storage of their own, which goes when the test ends. The programs come from Debian. Limits of
 * open files and processes are lowered, since a container may not be allowed to raise what it was started with.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { ensurePrograms } from '@pawl/devstack';

const run = promisify(execFile);

const programs = { podman: 'podman', buildah: 'buildah', runc: 'runc', mmdebstrap: 'mmdebstrap', iptables: 'iptables' };

const containersConf = `
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
cgroup_manager = "cgroupfs"
events_logger = "file"
runtime = "runc"
`;

export type Said = { stdout: string; stderr: string };

export type ContainerEngine = {
  /** A folder for what images are made of. */
  folder: string;
  /** For programs that start Podman by themselves. */
  environment: NodeJS.ProcessEnv;
  /** Runs it; rejects with what it said when it fails. */
  podman(...args: string[]): Promise<Said>;
  buildah(...args: string[]): Promise<Said>;
  /** A file system with these Debian packages, unpacked and not set up: nothing of them has run. */
  unpackDebian(packages: readonly string[], archive: string): Promise<void>;
  close(): Promise<void>;
};

/** Why there can't be containers here, or undefined. */
export async function whyNoContainers(): Promise<string | undefined> {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'containers need root on Linux here';
  return await ensurePrograms(programs);
}

/** Opens it; `whyNoContainers` has to be asked before. */
export async function openContainerEngine(): Promise<ContainerEngine> {
  const folder = await mkdtemp(join(tmpdir(), 'pawl-containers-'));
  const configuration = join(folder, 'containers.conf');
  const storage = join(folder, 'storage.conf');
  await writeFile(configuration, containersConf);
  const [graph, state] = [join(folder, 'graph'), join(folder, 'state')];
  await writeFile(storage, `[storage]\ndriver = "overlay"\ngraphroot = "${graph}"\nrunroot = "${state}"\n`);
  const environment = {
    ...process.env,
    CONTAINERS_CONF: configuration,
    CONTAINERS_STORAGE_CONF: storage,
  };
  const start = (program: string, args: string[]) =>
    run(program, args, { env: environment, maxBuffer: 64 * 1024 * 1024 });
  const podman = (...args: string[]) => start('podman', args);
  return {
    folder,
    environment,
    podman,
    buildah: (...args) => start('buildah', args),
    async unpackDebian(packages, archive) {
      const chosen = ['--variant=extract', '--mode=root', '--format=tar', `--include=${packages.join(',')}`];
      await start('mmdebstrap', [...chosen, 'bookworm', archive]);
    },
    async close() {
      await podman('rm', '--all', '--force', '--time', '1').catch(() => undefined);
      // Podman unmounts some by itself, a little later; what is still mounted can't be removed, and that is told.
      for (const mount of (await mountsIn(folder)).toReversed()) await run('umount', [mount]).catch(() => undefined);
      await rm(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 300 });
    },
  };
}

async function mountsIn(folder: string): Promise<string[]> {
  const mounts = (await readFile('/proc/self/mounts', 'utf8')).split('\n').map((line) => line.split(' ')[1] ?? '');
  return mounts.filter((mount) => mount.startsWith(`${folder}/`));
}
