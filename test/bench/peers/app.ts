/** What the apps of all peers have in common: their settings, on the command line, and the HTTP front that starts a run. */
import { createRequire } from 'node:module';
import { fastify } from 'fastify';
import type { Endpoints } from '../agent-loop.ts';

export type AppSettings = Endpoints & {
  port: number;
  /** An empty database of the app's own. */
  databaseUrl: string;
  /** The folder of the peers' packages. */
  packages: string;
};

export function readSettings(): AppSettings {
  return JSON.parse(process.argv[2] ?? '') as AppSettings;
}

/** Peers are installed away from the bench, so its own imports don't find them. */
export async function importPeer(settings: AppSettings, name: string): Promise<unknown> {
  const file = createRequire(`${settings.packages}/`).resolve(name);
  return await import(file);
}

/** `POST /run` answers with the text of the answer, once there is one. */
export async function serveRuns({ port }: AppSettings, run: () => Promise<string>): Promise<void> {
  const server = fastify({ forceCloseConnections: true });
  server.post('/run', () => run());
  await server.listen({ host: '127.0.0.1', port });
}
