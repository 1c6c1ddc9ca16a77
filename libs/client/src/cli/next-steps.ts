/** How a run that does not go on by itself goes on: the very commands to type. Pure. See docs/stop-reasons.md. */
import { formatNano, parseNano, type RunView } from '@pawl/contracts';

/** How much more a resumed run is proposed to get: the defaults of a whole run. */
const more = { steps: 10, toolCalls: 20, tokens: 50_000, spendNanoUsd: parseNano('0.40') };

export type NextStep = { command: string; what: string };

/** None when the run goes on by itself or has its final answer. `pawl` is how the command line is called. */
export function nextSteps(run: RunView, pawl: string): NextStep[] {
  const steps = stepsOf(run).map(([words, what]) => ({ command: `${pawl} ${words}`, what }));
  return run.status === 'running' && steps.length === 0
    ? [{ command: `${pawl} get ${run.id}`, what: 'look how it stands; it goes on by itself' }]
    : steps;
}

type Step = [words: string, what: string];

function stepsOf(run: RunView): Step[] {
  if (run.status === 'ended') return afterEnd(run);
  if (run.status === 'paused') return afterPause(run);
  return run.pending.flatMap(({ callId, kind, tool }): Step[] =>
    kind === 'input'
      ? [[`signal ${run.id} "<your answer>"`, 'answer its question']]
      : [
          [`approve ${run.id} ${callId}`, `let it call ${tool} with these arguments`],
          [`approve ${run.id} ${callId} --edit '<arguments as JSON>'`, 'let it call with others'],
          [`deny ${run.id} ${callId} --reason "<why>"`, 'it is told why and looks for another way'],
        ],
  );
}

function afterEnd(run: RunView): Step[] {
  if (run.stopReason === 'final_answer' || run.stopReason === 'policy_blocked') return [];
  const fromStep = Math.max(1, run.steps);
  return [[`fork ${run.id} --from-step ${fromStep}`, 'a new run that goes its own way from its last step']];
}

function afterPause(run: RunView): Step[] {
  const resume = `resume ${run.id}`;
  switch (run.stopReason) {
    case 'max_steps':
      return [[`${resume} --steps ${run.steps + more.steps}`, 'go on with more steps']];
    case 'max_tool_calls':
      return [[`${resume} --tool-calls ${run.toolCalls + more.toolCalls}`, 'go on with more tool calls']];
    case 'max_tokens':
      return [[`${resume} --tokens ${run.tokens + more.tokens}`, 'go on with more tokens']];
    case 'max_spend': {
      const spend = formatNano(BigInt(run.cost.nanoUsd) + more.spendNanoUsd);
      return [[`${resume} --spend ${spend}`, 'go on with more money, or raise the budget that is named above']];
    }
    case 'repeated_action':
    case 'no_new_information':
      return [
        [`signal ${run.id} "<what to do instead>"`, 'tell it where to look'],
        [resume, 'then go on'],
      ];
    case 'model_unavailable':
    case 'residency_blocked':
      return [
        [resume, 'go on once the model answers'],
        [`fork ${run.id} --from-step ${run.steps + 1} --model think=<route>`, 'or go on with another model'],
      ];
    default:
      return [[resume, 'go on']];
  }
}
