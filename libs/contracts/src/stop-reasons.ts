/** Why a run ended or paused: one closed list, on every ended or paused run. */
import { z } from 'zod';

export const stopReasons = [
  'final_answer',
  'max_steps',
  'max_tool_calls',
  'max_tokens',
  'max_spend',
  'deadline',
  'repeated_action',
  'no_new_information',
  'approval_denied',
  'approval_expired',
  'waiting_approval',
  'waiting_input',
  'cancelled',
  'model_unavailable',
  'residency_blocked',
  'policy_blocked',
  'invalid_answer',
  'internal_error',
] as const;

export const stopReasonSchema = z.enum(stopReasons);
export type StopReason = z.infer<typeof stopReasonSchema>;
