/** The program `pawl`: its global options and which commands there are. */
import { Command } from 'commander';
import { createClient } from '../client.ts';
import { addApplyCommand } from './commands/apply.ts';
import { addDoctorCommand } from './commands/doctor.ts';
import { addForkCommand } from './commands/fork.ts';
import { addLookCommands } from './commands/look.ts';
import { addRunCommand } from './commands/run.ts';
import { addDecideCommands, addSayCommands } from './commands/say.ts';
import { addToolCommands } from './commands/tool.ts';
import { callOf, findConnection, wantsColors, type ConnectionOptions } from './config.ts';
import type { CommandLine } from './context.ts';
import { createOutput } from './output.ts';

type GlobalOptions = ConnectionOptions & { json?: boolean };

const examples = `
Examples:
  pawl doctor                                       is everything there?
  pawl apply -f agent.yaml                          declare agents and tools
  pawl tool call refund --args '{"order": 7}'       try a tool
  pawl run sales-analyst "Why did sales drop?" --follow
  pawl get <runId>                                  how a run stands, and what to type next
  pawl pending                                      what waits for people
  pawl approve <runId>                              let a run make the call that waits
  pawl resume <runId> --steps 20                    go on where a limit stopped it
  pawl runs --status running --json                 for scripts

Exit codes: 0 done
            1 Pawl said no or does not answer
            2 wrong usage, or nothing there that this could be about
            3 the run ended without a final answer, or the tool did not do it
            4 the run has not ended: it goes on, or people have to say something first`;

/** `setExitCode` gets the code of a command that is done. Throws what commander, the client and commands throw. */
export function createProgram(setExitCode: (code: number) => void): Command {
  const program = new Command('pawl')
    .exitOverride()
    .description('Starts and follows runs of LLM agents, answers them, and declares agents and tools.')
    .option('--url <url>', 'where Pawl answers (default: PAWL_URL, else what "npm run dev" started)')
    .option('--key <key>', 'the key to use (default: PAWL_KEY, else that of the development stack)')
    .option('--app <app>', 'which app of the development stack to act for (default: demo)')
    .option('--json', 'print JSON for scripts instead of text for people')
    .addHelpText('after', examples)
    .showHelpAfterError('(run "pawl --help" to see what there is)');
  const options = () => program.opts<GlobalOptions>();
  const output = () => {
    const write = (text: string) => void process.stdout.write(text);
    return createOutput({ isJson: options().json === true, hasColors: wantsColors(), write });
  };
  const commandLine: CommandLine = {
    program,
    setExitCode,
    open() {
      const { url, key } = findConnection(options());
      return { client: createClient({ baseUrl: url, key }), output: output(), pawl: callOf(options()) };
    },
  };

  program.commandsGroup('Runs:');
  addRunCommand(commandLine);
  addLookCommands(commandLine);
  program.commandsGroup('What people say to runs:');
  addDecideCommands(commandLine);
  addSayCommands(commandLine);
  addForkCommand(commandLine);
  program.commandsGroup('Setting up:');
  addApplyCommand(commandLine);
  addToolCommands(commandLine);
  addDoctorCommand(commandLine, { output, connection: options });
  return program;
}
