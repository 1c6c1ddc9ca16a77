/** The command line `pawl`. Sentences for people on standard error, results on standard output, an exit code for scripts. */
import { CommanderError } from 'commander';
import { PawlError } from '../pawl-error.ts';
import { CommandError } from './command-error.ts';
import { createProgram } from './program.ts';

const program = createProgram((code) => (process.exitCode = code));
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

try {
  await program.parseAsync();
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2;
  else if (error instanceof CommandError || error instanceof PawlError) {
    console.error(`pawl: ${error.message}`);
    process.exitCode = error instanceof CommandError ? 2 : 1;
  } else throw error;
}
