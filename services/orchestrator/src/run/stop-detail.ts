/** One sentence for people on why a run ended. */
import { formatNano, type StopReason } from '@pawl/contracts';
import { limitsOf, type RunState } from './state.ts';

/** `isCut` says that the final answer breaks off. */
export function stopDetail(state: RunState, reason: StopReason, isCut = false): string {
  const limits = limitsOf(state);
  const failure = state.turns.findLast((turn) => turn.thought?.error)?.thought?.error?.message;
  switch (reason) {
    case 'final_answer':
      return isCut
        ? 'The final answer breaks off: the reply reached its greatest length.'
        : 'The model gave its final answer.';
    case 'max_steps':
      return `The limit of ${limits.steps} steps was reached.`;
    case 'max_tool_calls':
      return `The limit of ${limits.toolCalls} tool calls was reached.`;
    case 'max_tokens':
      return `The limit of ${limits.tokens} tokens was reached, or would have been by the next call.`;
    case 'max_spend':
      return (
        failure ??
        `The limit of ${formatNano(BigInt(limits.spendNanoUsd))} USD was reached, but for what a closing answer may cost.`
      );
    case 'deadline':
      return `The time limit of ${limits.wallClockMs / 1_000} seconds was reached.`;
    case 'cancelled':
      return state.cancel?.reason ? `The run was cancelled: ${state.cancel.reason}` : 'The run was cancelled.';
    case 'model_unavailable':
      return failure ?? 'No model gave an answer.';
    case 'residency_blocked':
      return failure ?? 'No model endpoint is allowed for the data that the run has read.';
    case 'invalid_answer':
      return 'The model gave no usable answer, although it was asked again.';
    case 'repeated_action':
      return 'The model kept repeating the same action.';
    case 'no_new_information':
      return 'The last rounds brought nothing new.';
    case 'approval_denied':
      return 'A call that needed approval was denied.';
    case 'approval_expired':
      return 'A call that needed approval was not decided in time.';
    case 'waiting_approval':
      return 'A call waits for approval.';
    case 'waiting_input':
      return 'The agent waits for an answer to its question.';
    case 'policy_blocked':
      return 'A policy does not allow the run to go on.';
    case 'internal_error':
      return 'Pawl itself made a mistake.';
  }
}
