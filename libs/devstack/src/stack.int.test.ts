/**
 * The whole stack in a folder of its own: the example's run ends with an answer, keys outlive a restart, and nothing is
 * left running.
 */
import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createClient } from '@pawl/client';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createTerminal } from './commands/terminal.ts';
import { readConfig } from './config.ts';
import { followRun } from './demo/follow-run.ts';
import { DEFAULT_EXAMPLE, loadExample } from './example/load-example.ts';
import { freePort } from './free-port.ts';
import { removeCluster } from './postgres/cluster-place.ts';
import { createStack } from './stack.ts';
import { readDevFile, stateFolder } from './state/state-folder.ts';

const TEST_TIMEOUT_MS = 120_000;

let folder = stateFolder();
beforeAll(() => {
  folder = stateFolder(mkdtempSync(join(tmpdir(), 'pawl-stack-')));
});
afterAll(async () => {
  await removeCluster(folder.postgres);
  rmSync(dirname(folder.postgres), { recursive: true, force: true });
});

async function openStack(lines: string[]) {
  const { PATH, HOME } = readConfig().environment;
  return createStack({
    folder,
    config: readConfig({ PATH, HOME }),
    example: await loadExample(folder.root, DEFAULT_EXAMPLE),
    port: await freePort(),
    command: 'npm run dev',
    progress: () => undefined,
    say: (line) => lines.push(line),
  });
}

test(
  'the example runs to its answer, and again after a restart with the same keys',
  { timeout: TEST_TIMEOUT_MS },
  async () => {
    const lines: string[] = [];
    const stack = await openStack(lines);
    const first = await stack.start();
    const example = await loadExample(folder.root, DEFAULT_EXAMPLE);
    const client = createClient({ baseUrl: first.devFile.url, key: first.appKey });
    const run = await client.startRun({ agent: example.agent, input: example.question });
    const stopReason = await followRun({
      client,
      run,
      question: example.question,
      terminal: { ...createTerminal(), print: (text) => lines.push(text), progress: () => undefined },
      interrupted: new AbortController().signal,
    });
    await stack.stop();
    expect(stopReason, lines.join('\n')).toBe('final_answer');
    expect(lines.join('\n')).toMatch(/Agent Thinking[^]*Operation Executed[^]*Result Obtained[^]*Analysis Conclusion/);
    expect(statSync(folder.devFile).mode & 0o777).toBe(0o600);
    await expect(fetch(first.devFile.url)).rejects.toThrow('fetch failed');

    const again = await openStack(lines);
    const second = await again.start();
    expect(second.appKey).toBe(first.appKey);
    expect(second.devFile.adminKey).toBe(first.devFile.adminKey);
    expect(readDevFile(folder)).toEqual(second.devFile);
    const kept = createClient({ baseUrl: second.devFile.url, key: second.appKey });
    expect((await kept.getRun(run.id)).stopReason).toBe('final_answer');
    await again.stop();
    expect(readdirSync(folder.logs)).toEqual(
      expect.arrayContaining(['orchestrator.log', 'sim.log', 'trace-store.log']),
    );
  },
);
