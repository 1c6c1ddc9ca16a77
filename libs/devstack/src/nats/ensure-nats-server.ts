/**
 * Finds the nats-server program, and installs Debian's package when that needs no question to anybody (root on Debian or
 * Ubuntu). It must not start a server and must leave no system service running.
 */
import { execFile } from 'node:child_process';
import { homedir } from 'node:os';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { readConfig } from '../config.ts';
import { DevstackError } from '../devstack-error.ts';
import { canInstall, findProgram, installDebianPackage } from '../process/debian-package.ts';

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
  if (await canInstall(folders)) {
    options.say?.('Installing the Debian package nats-server …');
    await installDebianPackage('nats-server');
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
  return (/(?<!\d)(\d+)\.(\d+)\.(\d+)/.exec(stdout) ?? []).slice(1).map(Number);
}
