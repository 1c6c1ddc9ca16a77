/** Whether an installation works: each service is ready, takes the admin key and no other. Changes nothing; exit code 1 if not. */
import process from 'node:process';
import { runTask } from '@pawl/service';
import { loadCheckConfig } from '../config.ts';

await runTask(async () => {
  const config = loadCheckConfig();
  /** By service, an address that wants a key. */
  const guarded = {
    [config.PAWL_ORCHESTRATOR_URL]: '/v1/agents?app=check',
    [config.PAWL_TOOL_RUNNER_URL]: '/v1/tools?app=check',
    [config.PAWL_LLM_GATEWAY_URL]: '/v1/budgets?app=check',
    [config.PAWL_TRACE_STORE_URL]: '/v1/traces',
  };
  const say = (line: string) => void process.stdout.write(`${line}\n`);
  for (const [url, path] of Object.entries(guarded)) {
    const ready = await ask(`${url}/healthz/ready`);
    say(`${url} ${ready.text}`);
    const isReady = ready.status === 200;
    // The admin may know a key and still not see what belongs to an app.
    const isKeyTaken = isReady && [200, 403].includes((await ask(url + path, config.PAWL_ADMIN_KEY)).status);
    const isGuessRefused = isReady && (await ask(url + path, 'guess')).status === 401;
    if (isReady && !isKeyTaken) say(`${url} refuses the admin key`);
    if (isReady && !isGuessRefused) say(`${url} takes any key`);
    if (!isKeyTaken || !isGuessRefused) process.exitCode = 1;
  }
  say(process.exitCode === 1 ? 'Pawl is not ready: the logs of these services say why.' : 'Pawl is ready.');
});

async function ask(url: string, key?: string): Promise<{ status: number; text: string }> {
  const headers = key === undefined ? {} : { authorization: `Bearer ${key}` };
  try {
    const response = await fetch(url, { headers });
    return { status: response.status, text: await response.text() };
  } catch {
    return { status: 0, text: 'does not answer' };
  }
}
