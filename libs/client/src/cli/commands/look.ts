/** `pawl runs`, `pawl get`, `pawl pending`, `pawl spend`: looking, which changes nothing. */
import { formatNano, runStatusSchema, type RunView } from '@pawl/contracts';
import { Option } from 'commander';
import type { SpendReport } from '../../answers.ts';
import { parseLimit, parseSeconds } from '../arguments.ts';
import type { CommandLine } from '../context.ts';
import { describeRun, listOfPending, listOfRuns } from '../describe-run.ts';
import { safeText, table } from '../output.ts';

export function addLookCommands({ program, open }: CommandLine): void {
  program
    .command('get')
    .description('show how a run stands: plan, what it waits for, answer, what to type next')
    .argument('<runId>')
    .option('-w, --wait <seconds>', 'wait so long until it ends, pauses or waits for people, up to 60', parseSeconds)
    .action(async (runId: string, { wait }: { wait?: number }) => {
      const { client, output, pawl } = open();
      const run = await client.getRun(runId, wait === undefined ? {} : { waitSeconds: Math.min(wait, 60) });
      output.result(run, () => describeRun(run, pawl));
    });
  program
    .command('runs')
    .description('list runs, newest first')
    .addOption(new Option('--status <status>', 'only these').choices(runStatusSchema.options))
    .option('--agent <agent>', 'only those of this agent')
    .option('--limit <number>', 'how many at the most, 1-200', parseLimit, 20)
    .action(async (options: { status?: RunView['status']; agent?: string; limit: number }) => {
      const { client, output, pawl } = open();
      const page = await client.listRuns(options);
      output.result(page, () => listOfRuns(page.items, pawl));
    });
  program
    .command('pending')
    .description('list what waits for people: decisions on calls, and answers to questions')
    .option('--agent <agent>', 'only of this agent')
    .action(async (options: { agent?: string }) => {
      const { client, output, pawl } = open();
      const runs = await client.listPending(options);
      output.result(runs, () => listOfPending(runs, pawl));
    });
  program
    .command('spend')
    .description('show what model calls cost, dearest first')
    .option('--by <columns>', 'sum by these: agent, model, provider, purpose, route, user, run, day', 'agent')
    .option('--from <time>', 'from this day or time on (default: 31 days ago)')
    .option('--to <time>', 'before this day or time (default: now)')
    .action(async ({ by, from, to }: { by: string; from?: string; to?: string }) => {
      const { client, output } = open();
      const columns = by.split(',').map((column) => column.trim());
      const report = await client.readSpend({ by: columns, ...(from && { from }), ...(to && { to }) });
      output.result(report, () => describeSpend(report, columns));
    });
}

const sums = ['CALLS', 'INPUT TOKENS', 'OUTPUT TOKENS', 'USD'];

function describeSpend({ items, from, to }: SpendReport, columns: string[]): string {
  if (items.length === 0) return `Nothing was spent from ${from} to ${to}.`;
  const rows = items.map((item) => [
    ...columns.map((column) => safeText(typeof item[column] === 'string' ? item[column] : '-')),
    ...[item.calls, item.inputTokens, item.outputTokens].map(String),
    item.cost.amount,
  ]);
  const total = items.reduce((sum, { cost }) => sum + BigInt(cost.nanoUsd), 0n);
  const names = [...columns.map((column) => column.toUpperCase()), ...sums];
  return `${table(names, rows, new Set(sums))}\n\n${formatNano(total)} USD from ${from} to ${to}`;
}
