/** `pawl tool call`: tries one declared tool, outside of any run. */
import type { ToolResult } from '../../answers.ts';
import { parseJsonObjectText } from '../arguments.ts';
import type { CommandLine } from '../context.ts';
import { safeText } from '../output.ts';

export function addToolCommands({ program, open, setExitCode }: CommandLine): void {
  const tool = program.command('tool').description('try a declared tool');
  tool
    .command('call')
    .description('call a declared tool as a run would, and print what it answers')
    .argument('<name>', 'name of the tool')
    .option('--args <JSON>', 'its arguments', parseJsonObjectText, '{}')
    .option('--idempotency-key <key>', 'the same key never has an effect twice')
    .action(async (name: string, { args, idempotencyKey }: { args: string; idempotencyKey?: string }) => {
      const { client, output } = open();
      const result = await client.callTool(name, args, idempotencyKey === undefined ? {} : { idempotencyKey });
      output.result(result, () => describeResult(result));
      setExitCode(result.status === 'ok' ? 0 : 3);
    });
}

function describeResult({ status, data, message, suggestion, truncated }: ToolResult): string {
  const lines = [status, message, data === null ? null : JSON.stringify(data, null, 2), suggestion];
  if (truncated) lines.push('(only a part of the result)');
  return safeText(lines.filter((line) => line !== null).join('\n'));
}
