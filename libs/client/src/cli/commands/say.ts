/** `pawl approve`, `deny`, `signal`, `resume`, `cancel`: what people say to a run that is under way. */
import { limitsSchema, type PendingCall, type RunView } from '@pawl/contracts';
import { parseCount, parseJsonObjectText, accept } from '../arguments.ts';
import { CommandError } from '../command-error.ts';
import type { CommandLine, Using } from '../context.ts';
import { safeText } from '../output.ts';

type ResumeOptions = { steps?: number; toolCalls?: number; tokens?: number; spend?: string; wallClock?: string };

export function addDecideCommands({ program, open }: CommandLine): void {
  const callHelp = 'which call, as "pawl get" shows it; not needed when only one waits';
  program
    .command('approve')
    .description('let a run make a call that waits for a person')
    .argument('<runId>')
    .argument('[callId]', callHelp)
    .option('--edit <JSON>', 'let it call with these arguments in place of its own', parseJsonObjectText)
    .option('--reason <text>', 'why, for the record')
    .action(async (runId: string, callId: string | undefined, options: { edit?: string; reason?: string }) => {
      await decide(open(), { decision: options.edit ? 'edit' : 'approve', runId, callId, ...options });
    });
  program
    .command('deny')
    .description('forbid a call that waits for a person; the run looks for another way')
    .argument('<runId>')
    .argument('[callId]', callHelp)
    .requiredOption('--reason <text>', 'why; the run is told')
    .action(async (runId: string, callId: string | undefined, { reason }: { reason: string }) => {
      await decide(open(), { decision: 'deny', runId, callId, reason });
    });
}

type Decision = {
  decision: 'approve' | 'deny' | 'edit';
  runId: string;
  callId: string | undefined;
  edit?: string;
  reason?: string;
};

async function decide({ client, output, pawl }: Using, asked: Decision): Promise<void> {
  const { runId, decision } = asked;
  const call = chooseCall(await client.getRun(runId), asked.callId, pawl);
  const { argsHash } = call;
  const reason = asked.reason === undefined ? {} : { reason: asked.reason };
  const args = decision === 'edit' ? (JSON.parse(asked.edit ?? '{}') as Record<string, unknown>) : undefined;
  const body = args ? { decision: 'edit' as const, argsHash, args } : { decision: asWord(decision), argsHash };
  const run = await client.decideApproval(runId, call.callId, { ...body, ...reason });
  const word = { approve: 'approved', edit: 'approved with other arguments', deny: 'denied' }[decision];
  output.result(run, () => {
    const shown = safeText(JSON.stringify(args ?? call.args));
    return `${word}: ${call.tool} ${shown}\nSee how it goes on: ${pawl} get ${runId} --wait 60`;
  });
}

function asWord(decision: Decision['decision']): 'approve' | 'deny' {
  return decision === 'deny' ? 'deny' : 'approve';
}

/** The call that is meant: the named one, else the only one that waits. */
function chooseCall(run: RunView, callId: string | undefined, pawl: string): PendingCall {
  const calls = run.pending.filter(({ kind }) => kind === 'approval');
  const [call, ...others] = callId === undefined ? calls : calls.filter((waiting) => waiting.callId === callId);
  if (!call) {
    const voided = run.voided?.find((each) => each.callId === callId);
    if (voided) throw new CommandError(`${voided.callId} is void: ${safeText(voided.why)}`);
    const which = callId === undefined ? 'no call' : `no call ${callId}`;
    throw new CommandError(`${which} of run ${run.id} waits for a decision. See how it stands: ${pawl} get ${run.id}`);
  }
  if (others.length === 0) return call;
  const ids = calls.map((waiting) => waiting.callId).join(', ');
  throw new CommandError(`several calls wait for a decision; name one of: ${ids}. See them: ${pawl} get ${run.id}`);
}

export function addSayCommands({ program, open }: CommandLine): void {
  program
    .command('signal')
    .description('tell a run something; answers its question when it has asked one')
    .argument('<runId>')
    .argument('<text>')
    .action(async (runId: string, text: string) => {
      const { client, output, pawl } = open();
      const run = await client.sendSignal(runId, { text });
      const next = run.status === 'paused' ? `${pawl} resume ${runId}` : `${pawl} get ${runId} --wait 60`;
      output.result(run, () => `run ${run.id} is told; then: ${next}`);
    });
  program
    .command('resume')
    .description('go on with a run that paused at a limit, with more of it')
    .argument('<runId>')
    .option('--steps <number>', 'steps it may take in all', parseCount)
    .option('--tool-calls <number>', 'tool calls it may make in all', parseCount)
    .option('--tokens <number>', 'tokens it may use in all', parseCount)
    .option('--spend <USD>', 'what it may cost in all, for example 1.00')
    .option('--wall-clock <duration>', 'how long it may take from now on, for example 120s')
    .action(async (runId: string, options: ResumeOptions) => {
      const { client, output, pawl } = open();
      const { spend, ...others } = options;
      const limits = { ...others, ...(spend !== undefined && { spend: { amount: spend, currency: 'USD' } }) };
      const run = await client.resumeRun(runId, accept(limitsSchema, limits));
      output.result(run, () => `run ${run.id} goes on. Look at it with: ${pawl} get ${runId} --wait 60`);
    });
  program
    .command('cancel')
    .description('stop a run')
    .argument('<runId>')
    .option('--reason <text>', 'why, for the record')
    .action(async (runId: string, { reason }: { reason?: string }) => {
      const { client, output } = open();
      const run = await client.cancelRun(runId, reason);
      output.result(run, () => `run ${run.id} is being cancelled`);
    });
}
