/**
 * Programs of others that long tests and benches run beside Pawl (`test/peers/package.json`, or another folder's). Too large to
 * install with Pawl itself, so they are installed when first asked for; again only when their lock file changes.
 */
import { execFile } from 'node:child_process';
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const installWithinMs = 600_000;

/** Installs them where that is needed, and gives the folder of their packages. Safe to ask for from several processes. */
export async function installPeers(place = 'test/peers'): Promise<string> {
  const folder = join(root, place);
  const packages = join(folder, 'node_modules');
  const stamp = join(packages, '.installed-lock');
  const lock = await readFile(join(folder, 'package-lock.json'), 'utf8');
  const isCurrent = async () => (await readFile(stamp, 'utf8').catch(() => '')) === lock;
  const guard = join(folder, '.installing');
  const giveUpAtMs = performance.now() + installWithinMs;
  while (!(await isCurrent())) {
    const isMine = await mkdir(guard).then(
      () => true,
      () => false,
    );
    if (isMine) {
      try {
        await promisify(execFile)('npm', ['ci', '--no-audit', '--no-fund', '--workspaces=false'], { cwd: folder });
        await writeFile(stamp, lock);
      } finally {
        await rm(guard, { recursive: true, force: true });
      }
    } else if (performance.now() > giveUpAtMs || (await isAbandoned(guard))) {
      await rm(guard, { recursive: true, force: true });
    } else {
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
  return packages;
}

/** Whether who was installing has died meanwhile. */
async function isAbandoned(guard: string): Promise<boolean> {
  const made = await stat(guard).catch(() => undefined);
  return made !== undefined && Date.now() - made.mtimeMs > installWithinMs;
}

/** Whether this run is one that takes the time for them: the full tests, or continuous integration. */
export function hasTimeForPeers(): boolean {
  return Boolean(process.env['PAWL_TEST_FULL'] ?? process.env['CI']);
}
