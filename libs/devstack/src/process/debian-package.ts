/**
 * Finds programs, and installs Debian's package of one where that needs no question to anybody (root on Debian or Ubuntu).
 * It must leave no system service running.
 */
import { spawn } from 'node:child_process';
import { constants, existsSync } from 'node:fs';
import { access, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { readConfig } from '../config.ts';
import { DevstackError } from '../devstack-error.ts';

const POLICY_FILE = '/usr/sbin/policy-rc.d';

/** The path of a program in one of the folders. */
export async function findProgram(name: string, folders: readonly string[]): Promise<string | undefined> {
  for (const folder of folders.filter((each) => each !== '')) {
    const path = join(folder, name);
    const isProgram = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isProgram) return path;
  }
  return undefined;
}

/** Whether a package can be installed without asking anybody. */
export async function canInstall(folders: readonly string[]): Promise<boolean> {
  return process.getuid?.() === 0 && (await findProgram('apt-get', folders)) !== undefined;
}

/**
 * Installs a package.
 * @throws DevstackError with what apt-get said.
 */
export async function installDebianPackage(name: string): Promise<void> {
  // A package may start a server of its own as a system service; exit code 101 of this file says no (Debian policy 9.3.3).
  const isPolicyOurs = !existsSync(POLICY_FILE);
  if (isPolicyOurs) await writeFile(POLICY_FILE, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    await runApt(name, ['update']);
    await runApt(name, ['install', '-y', '--no-install-recommends', name]);
  } finally {
    if (isPolicyOurs) await rm(POLICY_FILE, { force: true });
  }
}

async function runApt(name: string, args: readonly string[]): Promise<void> {
  const apt = spawn('apt-get', ['-qq', '-o', 'DPkg::Lock::Timeout=120', ...args], {
    env: { ...readConfig().environment, DEBIAN_FRONTEND: 'noninteractive' },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const exited = new Promise<number | null>((resolve, reject) => {
    apt.once('error', reject);
    apt.once('close', resolve);
  });
  const [output, errors, code] = await Promise.all([text(apt.stdout), text(apt.stderr), exited]);
  if (code !== 0) {
    throw new DevstackError(`Installing ${name} failed: apt-get ${args.join(' ')} said:\n${errors || output}`);
  }
}
