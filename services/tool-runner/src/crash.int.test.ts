/** A runner that is killed while its tools are at work: another one takes over, and no effect happens twice. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { eventually, useTestServers } from '@pawl/testkit';
import { environmentOf, openWorkBench, toolOf, type WorkBench } from './testing/runner-bench.ts';

const servers = useTestServers();
const main = new URL('./main.ts', import.meta.url).pathname;
let bench: WorkBench;
let runner: ChildProcess | undefined;

beforeAll(async () => void (bench = await openWorkBench(servers)));
afterAll(async () => {
  if (runner) await kill(runner, 'SIGTERM');
  await bench.close();
});

function startRunner(): ChildProcess {
  return spawn(process.execPath, [main], { env: environmentOf(servers), stdio: 'inherit' });
}

async function kill(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  const exited = once(child, 'exit');
  child.kill(signal);
  await exited;
}

test('C12: kill -9 with three calls under way: the read and the keyed write are repeated, the other write is in doubt', async () => {
  const tools = {
    read: toolOf('read', bench.http('/hold/read')),
    keyed: toolOf('keyed', { ...bench.http('/hold/keyed', 'POST'), effect: 'write', idempotent: true }),
    once: toolOf('once', { ...bench.http('/hold/once', 'POST'), effect: 'write' }),
  };
  const [read, keyed, unkeyed] = await Promise.all(Object.values(tools).map((tool) => bench.workFor(tool)));
  if (!read || !keyed || !unkeyed) throw new Error('no work');
  runner = startRunner();
  await Promise.all([read, keyed, unkeyed].map(bench.ask));
  await eventually(() => bench.peer.held.length === 3, { withinMs: 60_000 });

  await kill(runner, 'SIGKILL');
  runner = startRunner();
  await eventually(() => bench.peer.held.length === 5, { withinMs: 60_000 });
  for (const response of bench.peer.held) response.end('{}');
  const facts = await Promise.all([read, keyed, unkeyed].map(bench.observed));

  expect(facts.map((fact) => fact.observation.status)).toEqual(['ok', 'ok', 'in_doubt']);
  const paths = bench.peer.hits.map((hit) => hit.path);
  expect(paths.filter((path) => path === '/hold/once')).toHaveLength(1);
  const keys = bench.peer.hits.filter((hit) => hit.path === '/hold/keyed').map((hit) => hit.key);
  expect(keys).toHaveLength(2);
  expect(new Set(keys).size).toBe(1);
}, 240_000);
