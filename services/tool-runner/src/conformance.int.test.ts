/**
 * The MCP conformance suite against the whole production path: act work on NATS in, MCP out. A client that does nothing passes
 * some scenarios, so the number of checks is asserted, too. What needs a person at a browser (the authorization code flows) and
 * answers of a person within a call (elicitation) is not what a tool-runner does.
 */
import { spawn } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hasTimeForPeers, installPeers, useTestServers } from '@pawl/testkit';
import { openRunnerBench, type RunnerBench } from './testing/runner-bench.ts';

const servers = useTestServers();
let bench: RunnerBench;
let folder = '';
let peers = '';

type Check = { id: string; status: string; errorMessage?: string };

beforeAll(async () => {
  bench = await openRunnerBench(servers, { PAWL_ALLOW_PRIVATE_HOSTS: '127.0.0.1,localhost' });
  folder = await mkdtemp(join(tmpdir(), 'pawl-conformance-'));
});
afterAll(async () => {
  await bench.close();
  await rm(folder, { recursive: true, force: true });
});

/** Runs one scenario and gives its checks. */
async function checksOf(scenario: string, revision: string): Promise<Check[]> {
  const client = new URL('./testing/conformance-client.ts', import.meta.url).pathname;
  const output = join(folder, `${revision}-${scenario.replaceAll('/', '_')}`);
  const asked = [
    'client',
    '--command',
    `${process.execPath} ${client}`,
    '--scenario',
    scenario,
    '--spec-version',
    revision,
    '-o',
    output,
  ];
  const environment = {
    ...process.env,
    PAWL_NATS_URL: servers.natsUrl,
    PAWL_DATABASE_URL: servers.databaseUrl,
    PAWL_RUNNER_URL: bench.url,
  };
  const child = spawn(process.execPath, [join(peers, '@modelcontextprotocol/conformance/dist/index.js'), ...asked], {
    env: environment,
    stdio: 'pipe',
  });
  const said: string[] = [];
  child.stdout.on('data', (chunk: Buffer) => said.push(chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => said.push(chunk.toString()));
  await new Promise((resolve) => child.once('close', resolve));
  const files = await readdir(output, { recursive: true });
  const file = files.find((each) => each.endsWith('checks.json'));
  if (!file) throw new Error(`the suite gave no checks: ${said.join('')}`);
  return JSON.parse(await readFile(join(output, file), 'utf8')) as Check[];
}

const cases: [scenario: string, revision: string, checks: number][] = [
  ['initialize', '2025-11-25', 1],
  ['tools_call', '2025-11-25', 2],
  ['sse-retry', '2025-11-25', 3],
  ['json-schema-2020-12-preservation', '2025-11-25', 9],
  ['tools_call', '2026-07-28', 2],
  ['request-metadata', '2026-07-28', 6],
  ['sep-2322-client-request-state', '2026-07-28', 5],
  ['http-standard-headers', '2026-07-28', 3],
  ['http-custom-headers', '2026-07-28', 18],
  ['http-invalid-tool-headers', '2026-07-28', 12],
  ['json-schema-ref-no-deref', '2026-07-28', 1],
  ['json-schema-2020-12-preservation', '2026-07-28', 9],
];

/** Each takes some seconds; without the full run, one of each revision stands for all. */
const chosen = process.env['PAWL_TEST_FULL'] ? cases : cases.filter(([scenario]) => scenario === 'tools_call');

describe('MCP conformance', () => {
  for (const [scenario, revision, count] of chosen) {
    test(
      `${scenario} of revision ${revision}: every one of its checks passes`,
      { timeout: 660_000 },
      async (context) => {
        if (!hasTimeForPeers())
          context.skip('the suite is installed by npm run test:full and in continuous integration only');
        peers = await installPeers();
        const checks = await checksOf(scenario, revision);
        const failed = checks.filter((check) => check.status === 'FAILURE' || check.status === 'WARNING');
        expect(failed).toEqual([]);
        expect(checks.filter((check) => check.status === 'SUCCESS')).toHaveLength(count);
      },
    );
  }
});
