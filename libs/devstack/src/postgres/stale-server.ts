/**
 * What a killed server leaves behind. PostgreSQL clears its own lock file (postmaster.pid) when the process in it is gone,
 * but refuses to start when that number now belongs to another program, as happens all the time in containers.
 *
 * Precondition: the caller holds the lock of the data folder, so a server that still runs there is an orphan.
 */
import { execFile } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { poll } from '../process/poll.ts';
import { DevstackError } from '../devstack-error.ts';

const STOP_WITHIN_MS = 10_000;

/**
 * Ends an orphaned server of this data folder and removes a lock file that names a stranger.
 * @throws DevstackError when the orphan does not end.
 */
export async function clearStaleServer(dataFolder: string): Promise<void> {
  const lockFile = join(dataFolder, 'postmaster.pid');
  const lock = await readFile(lockFile, 'utf8').catch(() => undefined);
  if (lock === undefined) return;
  const pid = Number.parseInt(lock, 10);
  if (!(pid > 0) || !(await isServerOf(pid, dataFolder))) {
    await rm(lockFile, { force: true });
    return;
  }
  // SIGINT is PostgreSQL's fast shutdown: it drops the sessions and writes everything out.
  process.kill(pid, 'SIGINT');
  const isGone = await poll(async () => ((await isServerOf(pid, dataFolder)) ? undefined : true), {
    deadlineMs: STOP_WITHIN_MS,
  });
  if (isGone === undefined) {
    throw new DevstackError(
      `An earlier PostgreSQL (process ${pid}) still uses ${dataFolder} and doesn't end. End it with: kill -QUIT ${pid}`,
    );
  }
}

/** A postmaster carries its data folder on its command line: `postgres -D <folder> …`. */
async function isServerOf(pid: number, dataFolder: string): Promise<boolean> {
  return (await commandLineOf(pid)).includes(`-D ${dataFolder} `);
}

async function commandLineOf(pid: number): Promise<string> {
  const fromProc = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => undefined);
  if (fromProc !== undefined) return fromProc.replaceAll('\0', ' ');
  const listed = await promisify(execFile)('ps', ['-ww', '-o', 'command=', '-p', String(pid)]).catch(() => undefined);
  return listed?.stdout ?? '';
}
