/**
 * Where the files of a cluster live: in the wanted folder, or, when the database's user can't go there, in a folder of
 * /var/lib/pawl to which the wanted folder then holds a symbolic link. The link decides: without it the files are garbage.
 */
import { createHash } from 'node:crypto';
import {
  chmod,
  chown,
  mkdir,
  readFile,
  readdir,
  readlink,
  realpath,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { canReach } from './server-user.ts';
import type { ServerUser } from './server-user.ts';

/** Readable by everyone, written by root only; used when we are root and the checkout is private. */
export const REACHABLE_ROOT = '/var/lib/pawl';

const GARBAGE_AFTER_MS = 24 * 3600 * 1000;

/** Makes the (perhaps empty) folder of the cluster, owned by `user`, and returns its real path. Safe to repeat. */
export async function placeCluster(dataDir: string, user: ServerUser | undefined): Promise<string> {
  const wanted = join(dataDir, 'cluster');
  await mkdir(dataDir, { recursive: true });
  if (!user) {
    await mkdir(wanted, { recursive: true, mode: 0o700 });
    return realpath(wanted);
  }
  if (await canReach(dataDir, user)) {
    await mkdir(wanted, { recursive: true, mode: 0o700 });
    const place = await realpath(wanted);
    await chown(place, user.uid, user.gid);
    return place;
  }
  return placeElsewhere(wanted, user);
}

/** Removes the cluster and, if there is one, the link to it. */
export async function removeCluster(dataDir: string): Promise<void> {
  const wanted = join(dataDir, 'cluster');
  const place = await readlink(wanted).catch(() => undefined);
  if (place?.startsWith(`${REACHABLE_ROOT}/`)) {
    await rm(place, { recursive: true, force: true });
    await rm(`${place}.origin`, { force: true });
  }
  await rm(wanted, { recursive: true, force: true });
}

async function placeElsewhere(wanted: string, user: ServerUser): Promise<string> {
  const clusters = join(REACHABLE_ROOT, 'clusters');
  const id = createHash('sha256').update(wanted).digest('hex').slice(0, 16);
  const home = join(clusters, id);
  await mkdir(clusters, { recursive: true });
  await Promise.all([chmod(REACHABLE_ROOT, 0o755), chmod(clusters, 0o755)]);
  await removeGarbage(clusters);

  const linked = await readlink(wanted).catch(() => undefined);
  if (linked !== home) {
    await rm(wanted, { recursive: true, force: true });
    await rm(home, { recursive: true, force: true });
    await symlink(home, wanted);
  }
  await mkdir(home, { recursive: true, mode: 0o700 });
  await chown(home, user.uid, user.gid);
  await writeFile(`${home}.origin`, wanted);
  return home;
}

/** Clusters whose checkout is gone and which nobody has started for a day. */
async function removeGarbage(clusters: string): Promise<void> {
  for (const name of await readdir(clusters)) {
    if (!name.endsWith('.origin')) continue;
    const originFile = join(clusters, name);
    const home = originFile.slice(0, -'.origin'.length);
    const [origin, info] = await Promise.all([readFile(originFile, 'utf8'), stat(originFile)]).catch(() => []);
    if (origin === undefined || Date.now() - info.mtimeMs < GARBAGE_AFTER_MS) continue;
    if ((await readlink(origin).catch(() => undefined)) === home) continue;
    await Promise.all([rm(home, { recursive: true, force: true }), rm(originFile, { force: true })]);
  }
}
