/**
 * Finds the nats-server program, and installs Debian's package when that needs no question to anybody (root on Debian or
 * Ubuntu). It must not start a server and must leave no system service running.
 */
import { execFile, spawn } from 'node:child_process';
import { constants, existsSync } from 'node:fs';
import { access, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { readConfig } from '../config.ts';
import { DevstackError } from '../devstack-error.ts';

const POLICY_FILE = '/usr/sbin/policy-rc.d';
const DOWNLOAD_URL = 'https://github.com/nats-io/nats-server/releases';

/** Debian puts servers into /usr/sbin, which is not on every user's PATH. */
const USUAL_FOLDERS = [
  '/usr/sbin',
  '/usr/local/bin',
  '/usr/local/sbin',
  '/opt/homebrew/bin',
  join(homedir(), 'go/bin'),
];

export interface EnsureOptions {
  /** Gets one sentence before something slow starts. */
  say?: (sentence: string) => void;
  /** Where to look; default PATH and the usual folders. */
  folders?: readonly string[];
}

/**
 * The path of a nats-server program. Installs it if it can.
 * @throws DevstackError with the three ways to get one.
 */
export async function ensureNatsServer(options: EnsureOptions = {}): Promise<string> {
  const folders = options.folders ?? [...readConfig().path.split(delimiter), ...USUAL_FOLDERS];
  const found = await findProgram('nats-server', folders);
  if (found !== undefined) return found;
  if (process.getuid?.() === 0 && (await findProgram('apt-get', folders)) !== undefined) {
    options.say?.('Installing the Debian package nats-server …');
    await installDebianPackage();
    const installed = await findProgram('nats-server', folders);
    if (installed !== undefined) return installed;
  }
  throw new DevstackError(
    [
      'The program nats-server is not installed. Three ways to get it:',
      '  1. a package:        brew install nats-server   or   sudo apt-get install nats-server',
      `  2. a download:       ${DOWNLOAD_URL}   (put nats-server into a folder on PATH)`,
      '  3. a running server: set PAWL_NATS_URL, for example nats://127.0.0.1:4222 (JetStream enabled)',
    ].join('\n'),
  );
}

/** The version of a nats-server program as numbers, for example [2, 10, 27]. */
export async function natsServerVersion(program: string): Promise<number[]> {
  const { stdout } = await promisify(execFile)(program, ['--version']);
  return (/v?(\d+)\.(\d+)\.(\d+)/.exec(stdout) ?? []).slice(1).map(Number);
}

async function findProgram(name: string, folders: readonly string[]): Promise<string | undefined> {
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

async function installDebianPackage(): Promise<void> {
  // The package would start a server of its own as a system service; exit code 101 of this file says no (Debian policy 9.3.3).
  const isPolicyOurs = !existsSync(POLICY_FILE);
  if (isPolicyOurs) await writeFile(POLICY_FILE, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    await runApt(['update']);
    await runApt(['install', '-y', '--no-install-recommends', 'nats-server']);
  } finally {
    if (isPolicyOurs) await rm(POLICY_FILE, { force: true });
  }
}

async function runApt(args: readonly string[]): Promise<void> {
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
    throw new DevstackError(`Installing nats-server failed: apt-get ${args.join(' ')} said:\n${errors || output}`);
  }
}
