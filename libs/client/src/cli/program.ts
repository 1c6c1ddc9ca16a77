/** The commands of `pawl`, their arguments and help texts. */
import { runStatusSchema, type RunView } from '@pawl/contracts';
import { Command, InvalidArgumentError, Option } from 'commander';
import { createClient, type PawlClient } from '../client.ts';
import { applyCommand } from './commands/apply.ts';
import { doctorCommand } from './commands/doctor.ts';
import { runCommand, type RunOptions } from './commands/run.ts';
import { findConnection, wantsColors, type ConnectionOptions } from './config.ts';
import { createOutput, describeRun, listOfRuns, type Output } from './output.ts';

type GlobalOptions = ConnectionOptions & { json?: boolean };
type Using = { client: PawlClient; output: Output };

const examples = `
Examples:
  pawl doctor                                       is everything there?
  pawl apply -f agent.yaml                          declare agents and tools
  pawl run sales-analyst "Why did sales drop?" --follow
  pawl get <runId>                                  how a run stands, with its answer
  pawl runs --status running --json                 for scripts

Exit codes: 0 done, 1 Pawl said no or does not answer, 2 wrong usage,
            3 the run ended without a final answer, 4 the run still goes on`;

/** The program; `setExitCode` gets the code of a command that is done. */
export function createProgram(setExitCode: (code: number) => void): Command {
  const program = new Command('pawl')
    .description('Starts and follows runs of LLM agents, and declares agents and tools.')
    .option('--url <url>', 'where Pawl answers (default: PAWL_URL, else what "npm run dev" started)')
    .option('--key <key>', 'the key to use (default: PAWL_KEY, else that of the development stack)')
    .option('--app <app>', 'which app of the development stack to act for (default: demo)')
    .option('--json', 'print JSON for scripts instead of text for people')
    .addHelpText('after', examples)
    .showHelpAfterError('(run "pawl --help" to see what there is)');
  const output = () => {
    const write = (text: string) => void process.stdout.write(text);
    return createOutput({ isJson: program.opts<GlobalOptions>().json === true, hasColors: wantsColors(), write });
  };
  const using = (): Using => {
    const { url, key } = findConnection(program.opts<GlobalOptions>());
    return { client: createClient({ baseUrl: url, key }), output: output() };
  };

  program
    .command('run')
    .description('start a run of an agent on a question')
    .argument('<agent>', 'name of the agent')
    .argument('<input>', 'what it is asked')
    .option('-f, --follow', 'print each step as it happens, until the end')
    .option('-w, --wait <seconds>', 'wait so long for the end', parseSeconds)
    .option('--idempotency-key <key>', 'the same key never starts a second run')
    .addOption(new Option('--lane <lane>', 'how urgent it is').choices(['interactive', 'batch']))
    .action(async (agent: string, input: string, options: RunOptions) => {
      setExitCode(await runCommand(using(), { agent, input, ...options }));
    });
  addRunCommands(program, using);
  program
    .command('apply')
    .description('declare the objects of YAML or JSON files: agents, tools, routes, budgets, data sources')
    .requiredOption(
      '-f, --file <file...>',
      'files, or - for standard input; several objects in a file are parted by ---',
    )
    .action(async ({ file }: { file: string[] }) => await applyCommand(using(), file));
  program
    .command('doctor')
    .description('check that Pawl is there and works, and say what to do where not')
    .action(async () => setExitCode(await doctorCommand(output(), program.opts<GlobalOptions>())));
  return program;
}

function addRunCommands(program: Command, using: () => Using): void {
  program
    .command('runs')
    .description('list runs, newest first')
    .addOption(new Option('--status <status>', 'only these').choices(runStatusSchema.options))
    .option('--agent <agent>', 'only those of this agent')
    .option('--limit <number>', 'how many at the most, 1-200', parseLimit, 20)
    .action(async (options: { status?: RunView['status']; agent?: string; limit: number }) => {
      const { client, output } = using();
      const page = await client.listRuns(options);
      output.result(page, () => listOfRuns(page.items));
    });
  program
    .command('get')
    .description('show how a run stands, with its answer')
    .argument('<runId>')
    .option('-w, --wait <seconds>', 'wait so long for the end, up to 60', parseSeconds)
    .action(async (runId: string, { wait }: { wait?: number }) => {
      const { client, output } = using();
      const run = await client.getRun(runId, wait === undefined ? {} : { waitSeconds: Math.min(wait, 60) });
      output.result(run, () => describeRun(run));
    });
  program
    .command('cancel')
    .description('stop a run')
    .argument('<runId>')
    .option('--reason <text>', 'why, for the record')
    .action(async (runId: string, { reason }: { reason?: string }) => {
      const { client, output } = using();
      const run = await client.cancelRun(runId, reason);
      output.result(run, () => `run ${run.id} is being cancelled`);
    });
}

function parseSeconds(text: string): number {
  const seconds = Number(text);
  if (!Number.isInteger(seconds) || seconds < 0 || seconds > 86_400) {
    throw new InvalidArgumentError('give a whole number of seconds from 0 to 86400.');
  }
  return seconds;
}

function parseLimit(text: string): number {
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1 || limit > 200)
    throw new InvalidArgumentError('give a number from 1 to 200.');
  return limit;
}
