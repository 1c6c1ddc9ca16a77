/** `pawl run`: starts a run and, when asked, follows it to its end. */
import type { RunView } from '@pawl/contracts';
import type { PawlClient } from '../../client.ts';
import { pause } from '../../requests.ts';
import { describeFact, describeRun, type Output } from '../output.ts';

export type RunOptions = { follow?: boolean; wait?: number; idempotencyKey?: string; lane?: 'interactive' | 'batch' };

const waitSecondsMax = 60;
const betweenWaitsMs = 200;

/** The exit code: 0 when the run ended with its final answer or nobody waited for it, 3 when it ended otherwise, 4 when it goes on. */
export async function runCommand(
  using: { client: PawlClient; output: Output },
  asked: { agent: string; input: string } & RunOptions,
): Promise<number> {
  const { client, output } = using;
  const { agent, input, lane, idempotencyKey } = asked;
  const started = await client.startRun(
    { agent, input, ...(lane && { lane }) },
    idempotencyKey === undefined ? {} : { idempotencyKey },
  );
  if (asked.follow) await follow(using, started.id);
  const run = asked.follow ? await client.getRun(started.id) : await waitForEnd(client, started, asked.wait ?? 0);
  output.result(run, () => `${describeRun(run)}${hintFor(run, asked)}`);
  if (run.status === 'ended') return run.stopReason === 'final_answer' ? 0 : 3;
  return asked.follow || asked.wait ? 4 : 0;
}

async function follow({ client, output }: { client: PawlClient; output: Output }, runId: string): Promise<void> {
  for await (const event of client.events(runId)) {
    if (event.kind === 'fact') output.line(event.fact, () => describeFact(event.fact));
  }
}

async function waitForEnd(client: PawlClient, started: RunView, waitSeconds: number): Promise<RunView> {
  const giveUpAtMs = performance.now() + waitSeconds * 1_000;
  let run = started;
  for (;;) {
    const leftSeconds = Math.ceil((giveUpAtMs - performance.now()) / 1_000);
    if (run.status === 'ended' || run.status === 'paused' || leftSeconds <= 0) return run;
    run = await client.getRun(run.id, { waitSeconds: Math.min(leftSeconds, waitSecondsMax) });
    // A server that shuts down answers at once; it should not be asked without end.
    if (run.status === 'running') await pause(betweenWaitsMs);
  }
}

function hintFor(run: RunView, asked: RunOptions): string {
  if (run.status === 'ended' || asked.follow) return '';
  return `\n\nIt goes on by itself. Look at it with: pawl get ${run.id}`;
}
