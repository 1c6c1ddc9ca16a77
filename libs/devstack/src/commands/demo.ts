/**
 * `npm run demo`: all of Pawl on this machine, and one run of an example, shown as cards. Then the page stays open until
 * Ctrl-C, or with `--once` everything ends; exit code 0 only when the run ended with a final answer.
 */
import { createClient } from '@pawl/client';
import { followRun } from '../demo/follow-run.ts';
import { adviseOnEndpoint } from '../model/choose-model.ts';
import { aborted, develop, pageUrl } from './develop.ts';

await develop('demo', async ({ stack, example, model, commandLine, terminal, interrupted }) => {
  const client = createClient({ baseUrl: stack.devFile.url, key: stack.appKey });
  const run = await client.startRun({ agent: example.agent, input: example.question });
  const { question } = example;
  const isLast = commandLine.once;
  const stopReason = await followRun({ client, run, question, terminal, interrupted, isLast });
  if (stopReason === undefined) return 130;
  const where = isLast ? '"npm run dev" opens the page, where it stays' : terminal.colors.cyan(pageUrl(stack));
  terminal.print(`  page   ${where}\n`);
  if (model && stopReason === 'model_unavailable') terminal.print(`${adviseOnEndpoint(model)}\n`);
  if (!isLast) {
    terminal.print('The page stays open; Ctrl-C stops everything.');
    await aborted(interrupted);
  }
  terminal.print(`run ${run.id} ${stopReason === 'final_answer' ? 'ended' : 'stopped'}: ${stopReason}`);
  return stopReason === 'final_answer' ? 0 : 1;
});
