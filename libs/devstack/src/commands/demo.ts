/**
 * `npm run demo`: all of Pawl on this machine, and one run of an example, shown as cards. Then the page stays open until
 * Ctrl-C, or with `--once` everything ends; exit code 0 only when the run ended with a final answer.
 */
import { createClient } from '@pawl/client';
import { followRun } from '../demo/follow-run.ts';
import { aborted, develop, pageUrl } from './develop.ts';

await develop('demo', async ({ stack, example, commandLine, terminal, interrupted }) => {
  const client = createClient({ baseUrl: stack.devFile.url, key: stack.appKey });
  const run = await client.startRun({ agent: example.agent, input: example.question });
  const stopReason = await followRun({ client, run, question: example.question, terminal, interrupted });
  if (stopReason === undefined) return 130;
  terminal.print(`  page   ${terminal.colors.cyan(pageUrl(stack))}\n`);
  if (!commandLine.once) {
    terminal.print('The page stays open; Ctrl-C stops everything.');
    await aborted(interrupted);
  }
  terminal.print(`run ${run.id} ended: ${stopReason}`);
  return stopReason === 'final_answer' ? 0 : 1;
});
