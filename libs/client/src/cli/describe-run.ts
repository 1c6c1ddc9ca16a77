/** Runs as text for people. Pure. Arguments that wait for a decision are never cut: people answer for what they see. */
import type { PendingCall, RunView } from '@pawl/contracts';
import { nextSteps } from './next-steps.ts';
import { safeText, shortText, table } from './output.ts';

/** How a run stands: its plan, what it waits for, its answer, and how it goes on. */
export function describeRun(run: RunView, pawl: string): string {
  const reason = run.stopReason ? `: ${run.stopReason}` : '';
  const parts = [
    [
      `run ${run.id} ${run.status}${reason}`,
      `  agent ${run.agent} · phase ${run.phase} · steps ${run.steps} · tool calls ${run.toolCalls} · tokens ${run.tokens} · ${run.cost.amount} ${run.cost.currency}`,
      ...(run.forkOf ? [`  fork of ${run.forkOf.runId} from step ${run.forkOf.fromStep}`] : []),
      ...(run.parent ? [`  answers ${run.parent.callId} of ${run.parent.runId}`] : []),
      ...(run.detail ? [`  ${safeText(run.detail)}`] : []),
    ],
    run.plan ? ['plan', ...run.plan.map(({ text, isDone }) => `  ${isDone ? '✓' : '·'} ${shortText(text)}`)] : [],
    run.pending.length > 0 ? ['waits for', ...run.pending.flatMap(describePending)] : [],
    run.voided ? ['void', ...run.voided.map(describeVoided)] : [],
    run.answer ? [safeText(run.answer)] : [],
    run.answer && run.partial ? ['(a partial answer)'] : [],
    describeNext(run, pawl),
  ];
  return parts
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n');
}

function describeNext(run: RunView, pawl: string): string[] {
  const steps = nextSteps(run, pawl);
  if (steps.length === 0) return [];
  return ['next', ...steps.map(({ command, what }) => `  ${command}\n      ${what}`)];
}

function describePending(call: PendingCall): string[] {
  const { callId, tool, args, argsHash, expiresAt, why, kind } = call;
  if (kind === 'input') return [`  ${callId}  an answer to: ${safeText(why)}`];
  return [
    `  ${callId}  a decision on ${tool}`,
    `    arguments  ${safeText(JSON.stringify(args))}`,
    `    why        ${safeText(why)}`,
    `    hash       ${argsHash}`,
    ...(expiresAt ? [`    expires    ${expiresAt}`] : []),
  ];
}

function describeVoided({ callId, tool, why }: NonNullable<RunView['voided']>[number]): string {
  return `  ${callId}  ${tool}: ${safeText(why)}`;
}

export function listOfRuns(runs: RunView[], pawl: string): string {
  if (runs.length === 0) return `There are no runs yet. Start one: ${pawl} run <agent> "<question>"`;
  const rows = runs.map((run) => [run.id, run.agent, run.stopReason ?? run.status, run.cost.amount, run.startedAt]);
  return table(['RUN', 'AGENT', 'STATE', 'USD', 'STARTED'], rows);
}

/** All that waits for people, one call a line. */
export function listOfPending(runs: RunView[], pawl: string): string {
  const rows = runs.flatMap((run) =>
    run.pending.map((call) => [run.id, call.callId, run.agent, ...whatOf(call), call.expiresAt ?? 'never']),
  );
  if (rows.length === 0) return 'Nothing waits for people.';
  const hint = `Look at one with "${pawl} get <run>"; then approve, deny, or signal an answer.`;
  return `${table(['RUN', 'CALL', 'AGENT', 'WAITS FOR', 'WHAT', 'EXPIRES'], rows)}\n\n${hint}`;
}

function whatOf({ kind, tool, args, why }: PendingCall): string[] {
  return kind === 'input'
    ? ['answer', shortText(why, 60)]
    : ['decision', shortText(`${tool} ${JSON.stringify(args)}`, 60)];
}
