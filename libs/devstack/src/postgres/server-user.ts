/**
 * PostgreSQL refuses to run as root. When we are root it runs as an unprivileged user that the system already has, and its
 * files live where that user can go, which the checkout may not be (/root, a private temporary folder).
 */
import { execFile } from 'node:child_process';
import { stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { promisify } from 'node:util';
import { DevstackError } from '../devstack-error.ts';

const CANDIDATES = ['postgres', '_postgres', 'nobody'];

export interface ServerUser {
  uid: number;
  gid: number;
}

/** The user to switch to; undefined when we are not root and simply stay who we are. */
export async function findServerUser(): Promise<ServerUser | undefined> {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of CANDIDATES) {
    const [uid, gid] = await Promise.all([idOf('-u', name), idOf('-g', name)]);
    if (uid && gid !== undefined) return { uid, gid };
  }
  throw new DevstackError(
    `PostgreSQL can't run as root, and this system has none of the users ${CANDIDATES.join(', ')}. ` +
      'Run the command as another user, or set PAWL_DATABASE_URL to a running PostgreSQL.',
  );
}

async function idOf(flag: '-u' | '-g', name: string): Promise<number | undefined> {
  const answer = await promisify(execFile)('id', [flag, name]).catch(() => undefined);
  return answer && Number.parseInt(answer.stdout, 10);
}

/** Whether `user` may enter every folder from the root down to `path`, `path` included. By mode bits alone. */
export async function canReach(path: string, user: ServerUser): Promise<boolean> {
  const info = await stat(path).catch(() => undefined);
  if (info) {
    const needed = info.uid === user.uid ? 0o100 : 0o001;
    if ((info.mode & needed) === 0) return false;
  }
  const parent = dirname(path);
  return parent === path || canReach(parent, user);
}
