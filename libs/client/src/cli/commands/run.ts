/** `pawl run`: starts a run and, when asked, follows it until it has ended, pauses or only waits for people. */
import { isAtRest, type RunView } from '@pawl/contracts';
import { Option } from 'commander';
import type { PawlClient } from '../../client.ts';
import { pause } from '../../requests.ts';
import { parseSeconds } from '../arguments.ts';
import type { CommandLine, Using } from '../context.ts';
import { describeFact } from '../describe-fact.ts';
import { describeRun } from '../describe-run.ts';

type RunOptions = { follow?: boolean; wait?: number; idempotencyKey?: string; lane?: 'interactive' | 'batch' };

const waitSecondsMax = 60;
const betweenWaitsMs = 200;

export function addRunCommand({ program, open, setExitCode }: CommandLine): void {
  program
    .command('run')
    .description('start a run of an agent on a question')
    .argument('<agent>', 'name of the agent')
    .argument('<input>', 'what it is asked')
    .option('-f, --follow', 'print each step as it happens, until it ends or people have to say something')
    .option('-w, --wait <seconds>', 'wait so long for that, without printing the steps', parseSeconds)
    .option('--idempotency-key <key>', 'the same key never starts a second run')
    .addOption(new Option('--lane <lane>', 'how urgent it is').choices(['interactive', 'batch']))
    .action(async (agent: string, input: string, options: RunOptions) => {
      setExitCode(await runCommand(open(), { agent, input, ...options }));
    });
}

/** 0 when the run ended with its final answer or nobody waited for it, 3 when it ended otherwise, 4 when it has not ended. */
async function runCommand(using: Using, asked: { agent: string; input: string } & RunOptions): Promise<number> {
  const { client, output, pawl } = using;
  const { agent, input, lane, idempotencyKey } = asked;
  const started = await client.startRun(
    { agent, input, ...(lane && { lane }) },
    idempotencyKey === undefined ? {} : { idempotencyKey },
  );
  const run = asked.follow ? await follow(using, started.id) : await waitForRest(client, started, asked.wait ?? 0);
  output.result(run, () => describeRun(run, pawl));
  if (run.status === 'ended') return run.stopReason === 'final_answer' ? 0 : 3;
  return asked.follow || asked.wait ? 4 : 0;
}

async function follow({ client, output }: Using, runId: string): Promise<RunView> {
  for await (const event of client.events(runId, { untilRest: true })) {
    if (event.kind === 'fact') output.line(event.fact, () => describeFact(event.fact));
  }
  output.line(undefined, () => '');
  return await client.getRun(runId);
}

async function waitForRest(client: PawlClient, started: RunView, waitSeconds: number): Promise<RunView> {
  const giveUpAtMs = performance.now() + waitSeconds * 1_000;
  let run = started;
  for (;;) {
    const leftSeconds = Math.ceil((giveUpAtMs - performance.now()) / 1_000);
    if (isAtRest(run) || leftSeconds <= 0) return run;
    run = await client.getRun(run.id, { waitSeconds: Math.min(leftSeconds, waitSecondsMax) });
    // A server that shuts down answers at once; it should not be asked without end.
    if (!isAtRest(run)) await pause(betweenWaitsMs);
  }
}
