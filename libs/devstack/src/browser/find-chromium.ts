/** Finds a Chromium for tests of the page, and installs Debian's where that needs no question to anybody. */
import { delimiter } from 'node:path';
import { readConfig } from '../config.ts';
import { canInstall, findProgram, installDebianPackage } from '../process/debian-package.ts';

const NAMES = ['chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable', 'Google Chrome'];
const USUAL_FOLDERS = ['/usr/bin', '/usr/local/bin', '/Applications/Google Chrome.app/Contents/MacOS'];

/** The path of a Chromium or Chrome, or undefined where there is none. */
export async function findChromium(): Promise<string | undefined> {
  for (const name of NAMES) {
    const path = await findProgram(name, foldersToSearch());
    if (path !== undefined) return path;
  }
  return undefined;
}

/**
 * The same, after an installation if need be and possible. `say` gets one sentence before that.
 * @throws DevstackError when the installation fails.
 */
export async function ensureChromium({ say }: { say: (sentence: string) => void }): Promise<string | undefined> {
  const found = await findChromium();
  if (found !== undefined || !(await canInstall(foldersToSearch()))) return found;
  say('Installing the Debian package chromium for the tests of the page …');
  await installDebianPackage('chromium');
  return findChromium();
}

function foldersToSearch(): string[] {
  return [...readConfig().path.split(delimiter), ...USUAL_FOLDERS];
}
