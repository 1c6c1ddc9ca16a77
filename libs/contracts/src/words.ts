/**
 * The closed lists of the contracts, for those who can't load the schemas, such as a page in a browser: nothing is imported here.
 * In the index each stands beside its schema.
 */

/** Why a run ended or paused. */
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

/** What the facts of a run's log are. */
export const factKinds = [
  'started',
  'thought',
  'acted',
  'observed',
  'approval',
  'signal',
  'cancel',
  'paused',
  'resumed',
  'ended',
] as const;

/** What a thought is for. The agent says which model route serves which purpose. */
export const purposes = ['think', 'plan', 'reflect', 'summarize', 'conclude'] as const;

/** What a call came to. */
export const observationStatuses = ['ok', 'error', 'denied', 'duplicate', 'timeout', 'cancelled', 'in_doubt'] as const;

/** Whether a run goes on. */
export const runStatuses = ['running', 'waiting', 'paused', 'ended'] as const;

/** What carries out a tool. */
export const toolKinds = ['http', 'mcp', 'nats', 'sql', 'builtin', 'skill', 'agent'] as const;
