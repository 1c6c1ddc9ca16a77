/** `pawl fork`: a new run that takes over the steps of another one and goes its own way from there. */
import { forkRunSchema, type ForkRun } from '@pawl/contracts';
import { accept, parseCount, parseModel } from '../arguments.ts';
import type { CommandLine } from '../context.ts';

type ForkOptions = {
  fromStep: number;
  input?: string;
  instructions?: string;
  model?: ForkRun['models'];
  allowWrites?: boolean;
};

export function addForkCommand({ program, open }: CommandLine): void {
  program
    .command('fork')
    .description('start a new run that takes over the steps before one and goes its own way from there')
    .argument('<runId>', 'the run to take over from; it stays as it is')
    .requiredOption(
      '--from-step <number>',
      'the first step that the new run takes itself; 1 takes over nothing',
      parseCount,
    )
    .option('--input <text>', 'another question')
    .option('--instructions <text>', 'other instructions of the agent')
    .option(
      '--model <purpose=route>',
      'another model for a purpose, for example think=smart; may be repeated',
      parseModel,
    )
    .option('--allow-writes', 'also let it call tools that change something (otherwise they are denied)')
    .action(async (runId: string, { model, ...options }: ForkOptions) => {
      const { client, output, pawl } = open();
      const run = await client.forkRun(runId, accept(forkRunSchema, { ...options, ...(model && { models: model }) }));
      output.result(
        run,
        () => `run ${run.id} was forked from ${runId}.\nLook at it with: ${pawl} get ${run.id} --wait 60`,
      );
    });
}
