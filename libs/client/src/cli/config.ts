/** Where the command line finds Pawl: options, else the environment, else what `npm run dev` has left in `.pawl/dev.json`. */
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { z } from 'zod';
import { CommandError } from './command-error.ts';

export type Connection = {
  url: string;
  key: string;
  /** Needed for objects of any app; known only from dev.json or PAWL_ADMIN_KEY. */
  adminKey: string | undefined;
  /** Where it was found, for people. */
  source: string;
};

export type ConnectionOptions = { url?: string | undefined; key?: string | undefined; app?: string | undefined };

const devFileSchema = z.object({
  url: z.string(),
  adminKey: z.string().optional(),
  apps: z.record(z.string(), z.object({ key: z.string() })),
});

/** Whether to ask for colours. */
export function wantsColors(): boolean {
  return process.stdout.isTTY && !process.env['NO_COLOR'];
}

/** How this command line was called, for commands to type next. A key that was given is not repeated. */
export function callOf({ url, app }: ConnectionOptions): string {
  const name = process.env['npm_command'] === 'exec' ? 'npx pawl' : 'pawl';
  return [name, ...(url ? [`--url ${url}`] : []), ...(app ? [`--app ${app}`] : [])].join(' ');
}

/** Throws `CommandError` that says what to do when nothing points to a Pawl. */
export function findConnection(options: ConnectionOptions): Connection {
  const url = options.url ?? process.env['PAWL_URL'];
  const key = options.key ?? process.env['PAWL_KEY'];
  const adminKey = process.env['PAWL_ADMIN_KEY'];
  if (url && key) return { url, key, adminKey, source: options.url ? '--url and --key' : 'PAWL_URL and PAWL_KEY' };
  const file = findDevFile(process.env['INIT_CWD'] ?? process.cwd());
  if (!file) {
    const missing = url ? 'there is no key: set PAWL_KEY or give --key' : 'there is no Pawl to talk to';
    throw new CommandError(
      `${missing}.\nStart one here with "npm run dev", or set PAWL_URL and PAWL_KEY (or --url and --key).`,
    );
  }
  const dev = readDevFile(file);
  const app = options.app ?? 'demo';
  const appKey = key ?? dev.apps[app]?.key;
  if (!appKey) {
    throw new CommandError(`${file} has no key for app ${app}; it has: ${Object.keys(dev.apps).join(', ') || 'none'}.`);
  }
  return { url: url ?? dev.url, key: appKey, adminKey: adminKey ?? dev.adminKey, source: file };
}

/** The nearest .pawl/dev.json, from a folder upwards. */
function findDevFile(from: string): string | undefined {
  for (let folder = resolve(from); ; folder = dirname(folder)) {
    const file = join(folder, '.pawl', 'dev.json');
    if (existsSync(file)) return file;
    if (folder === dirname(folder)) return undefined;
  }
}

function readDevFile(file: string): z.infer<typeof devFileSchema> {
  try {
    return devFileSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
  } catch {
    throw new CommandError(`${file} can't be read. Start "npm run dev" again to have it written anew.`);
  }
}
