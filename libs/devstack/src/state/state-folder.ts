/**
 * The folder .pawl of a checkout: where everything of a development stack lives.
 */
import { existsSync, readFileSync, writeFileSync, chmodSync, mkdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';

export interface StateFolder {
  /** The checkout. */
  root: string;
  nats: string;
  postgres: string;
  logs: string;
  compileCache: string;
  lockFile: string;
  devFile: string;
}

/** Of this checkout, or of another one for tests. */
export function stateFolder(folder?: string): StateFolder {
  const root = resolve(dirname(fileURLToPath(import.meta.url)), '../../../..');
  const state = folder ?? join(root, '.pawl');
  return {
    root,
    nats: join(state, 'nats'),
    postgres: join(state, 'postgres'),
    logs: join(state, 'logs'),
    compileCache: join(state, 'compile-cache'),
    lockFile: join(state, 'dev.lock'),
    devFile: join(state, 'dev.json'),
  };
}

/** What a client of the development stack needs to know; also how keys survive a restart. */
const devFileSchema = z.object({
  url: z.string(),
  adminKey: z.string(),
  apps: z.record(z.string(), z.object({ key: z.string() })),
  services: z.object({
    orchestrator: z.string(),
    toolRunner: z.string(),
    llmGateway: z.string(),
    traceStore: z.string(),
  }),
  natsUrl: z.string(),
  databaseUrl: z.string(),
});
export type DevFile = z.infer<typeof devFileSchema>;

/** Undefined when there is none, or none that makes sense. */
export function readDevFile(folder: StateFolder): DevFile | undefined {
  if (!existsSync(folder.devFile)) return undefined;
  try {
    return devFileSchema.parse(JSON.parse(readFileSync(folder.devFile, 'utf8')));
  } catch {
    return undefined;
  }
}

/** Holds keys and a password: readable by its owner alone. */
export function writeDevFile(folder: StateFolder, content: DevFile): void {
  mkdirSync(dirname(folder.devFile), { recursive: true });
  writeFileSync(folder.devFile, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 });
  chmodSync(folder.devFile, 0o600);
}
