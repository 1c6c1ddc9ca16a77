/**
 * The arguments of `npm run dev` and `npm run demo`.
 */
import { parseArgs } from 'node:util';
import { DevstackError, reasonOf } from '../devstack-error.ts';
import { DEFAULT_EXAMPLE } from '../example/load-example.ts';

export interface CommandLine {
  /** Of the front door. Default 7300. */
  port: number;
  example: string;
  /** Exit when the run has ended. Only the demo has a run. */
  once: boolean;
}

/** @throws DevstackError on an unknown or senseless argument. */
export function parseCommandLine(command: 'dev' | 'demo', args: readonly string[]): CommandLine {
  const values = readArguments(command, args);
  const port = Number(values.port ?? '7300');
  if (!Number.isInteger(port) || port < 1 || port > 65_535) {
    throw new DevstackError(`--port needs a number from 1 to 65535, not ${values.port}.`);
  }
  return { port, example: values.example ?? DEFAULT_EXAMPLE, once: values.once ?? false };
}

function readArguments(
  command: 'dev' | 'demo',
  args: readonly string[],
): { port?: string; example?: string; once?: boolean } {
  const options = { port: { type: 'string' }, example: { type: 'string' } } as const;
  try {
    if (command === 'dev') return parseArgs({ args: [...args], options }).values;
    return parseArgs({ args: [...args], options: { ...options, once: { type: 'boolean' } } }).values;
  } catch (error) {
    const once = command === 'demo' ? ' [--once]' : '';
    throw new DevstackError(`${reasonOf(error)}\nUsage: npm run ${command} -- [--port N] [--example NAME]${once}`);
  }
}
