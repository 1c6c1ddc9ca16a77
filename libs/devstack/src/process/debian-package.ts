/**
 * Finds programs, and installs Debian's package of one where that needs no question to anybody (root on Debian or Ubuntu).
 * It must leave no system service running.
 */
import { spawn } from 'node:child_process';
import { constants, existsSync } from 'node:fs';
import { access, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { readConfig } from '../config.ts';
import { DevstackError } from '../devstack-error.ts';
import { poll } from './poll.ts';
import { tryLock } from './process-lock.mjs';

const POLICY_FILE = '/usr/sbin/policy-rc.d';
const INSTALL_WITHIN_MS = 600_000;

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
 * Makes sure of programs, given with the Debian packages that bring them. Safe to ask for from several processes.
 * Returns why they can't be had, or undefined when all are there.
 */
export async function ensurePrograms(
  packagesOfPrograms: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const folders = [...readConfig().path.split(delimiter), '/usr/sbin', '/usr/bin'];
  const missing: string[] = [];
  for (const [program, name] of Object.entries(packagesOfPrograms)) {
    if ((await findProgram(program, folders)) === undefined) missing.push(name);
  }
  if (missing.length === 0) return undefined;
  if (!(await canInstall(folders))) return `${missing.join(', ')} can only be installed as root on Debian`;
  try {
    for (const name of missing) await installDebianPackage(name);
    return undefined;
  } catch (error) {
    if (error instanceof DevstackError) return error.message;
    throw error;
  }
}

/**
 * Installs a package, one process after the other.
 * @throws DevstackError with what apt-get said.
 */
export async function installDebianPackage(name: string): Promise<void> {
  const lock = join(tmpdir(), 'pawl-apt.lock');
  const release = await poll(async () => tryLock(lock).release, { deadlineMs: INSTALL_WITHIN_MS, intervalMs: 250 });
  if (!release) throw new DevstackError(`Installing ${name} failed: another process installs for too long.`);
  try {
    await installAlone(name);
  } finally {
    release();
  }
}

async function installAlone(name: string): Promise<void> {
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
