/** The command line, run as a user does, against the test server. Imported by tests only. */
import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach } from 'vitest';
import { startRunServer, type RunServer } from './run-server.ts';

const launcher = fileURLToPath(new URL('../../bin/pawl.mjs', import.meta.url));

type Result = { code: number; out: string; err: string };

export type TestCommandLine = {
  /** A new one for each test. */
  server: RunServer;
  /** Where it is called: a folder without anything in it. */
  folder: string;
  /** Without `env` it is told where the server is. */
  pawl(args: string[], env?: Record<string, string>): Promise<Result>;
};

/** Call it once, at the top of a test file. */
export function useCommandLine(): TestCommandLine {
  const cli = { pawl } as TestCommandLine;

  function pawl(args: string[], env: Record<string, string> = { PAWL_URL: cli.server.url, PAWL_KEY: 'key' }) {
    return new Promise<Result>((resolve) => {
      const options = { cwd: cli.folder, env, timeout: 25_000 };
      execFile(process.execPath, [launcher, ...args], options, (error, out, err) => {
        resolve({ code: typeof error?.code === 'number' ? error.code : error ? -1 : 0, out, err });
      });
    });
  }

  beforeEach(async () => {
    cli.server = await startRunServer();
    cli.folder = await mkdtemp(join(tmpdir(), 'pawl-cli-'));
  });
  afterEach(async () => {
    await cli.server.stop();
    await rm(cli.folder, { recursive: true, force: true });
  });
  return cli;
}
