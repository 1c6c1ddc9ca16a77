/** The page's words for statuses and stop reasons. */

export const runStatusWords = {
  running: { label: 'Running', tone: 'live' },
  waiting: { label: 'Waiting', tone: 'warn' },
  paused: { label: 'Paused', tone: 'warn' },
  ended: { label: 'Ended', tone: 'quiet' },
};

/** Stop reason → what a reader needs to know. */
export const stopReasonWords = {
  final_answer: { label: 'Answered', sentence: 'The agent reached its final answer.', tone: 'good' },
  max_steps: { label: 'Step limit', sentence: 'It stopped because it used up its steps.', tone: 'warn' },
  max_tool_calls: { label: 'Call limit', sentence: 'It stopped because it used up its tool calls.', tone: 'warn' },
  max_tokens: { label: 'Token limit', sentence: 'It stopped because it used up its tokens.', tone: 'warn' },
  max_spend: { label: 'Money limit', sentence: 'It stopped because it reached its spending limit.', tone: 'warn' },
  deadline: { label: 'Time limit', sentence: 'It stopped because its time was over.', tone: 'warn' },
  repeated_action: { label: 'Repeating', sentence: 'It was stopped because it kept repeating itself.', tone: 'warn' },
  no_new_information: { label: 'Nothing new', sentence: 'It was stopped because it found nothing new.', tone: 'warn' },
  approval_denied: { label: 'Denied', sentence: 'It stopped because a person denied a step.', tone: 'warn' },
  approval_expired: { label: 'Not approved', sentence: 'It stopped because nobody decided in time.', tone: 'warn' },
  waiting_approval: { label: 'Needs approval', sentence: 'It waits until a person approves a step.', tone: 'warn' },
  waiting_input: { label: 'Needs an answer', sentence: 'It waits for an answer from a person.', tone: 'warn' },
  cancelled: { label: 'Cancelled', sentence: 'A person or a program cancelled it.', tone: 'quiet' },
  model_unavailable: { label: 'No model', sentence: 'It stopped because no model gave an answer.', tone: 'bad' },
  residency_blocked: {
    label: 'Region rule',
    sentence: 'It stopped because the data may not go to any model that is left.',
    tone: 'bad',
  },
  policy_blocked: { label: 'Policy', sentence: 'It stopped because a policy does not allow more.', tone: 'bad' },
  invalid_answer: { label: 'No usable answer', sentence: 'The model gave no usable answer.', tone: 'bad' },
  internal_error: { label: 'Fault in Pawl', sentence: 'It stopped because of a fault in Pawl itself.', tone: 'bad' },
};

export const observationWords = {
  ok: { label: 'Done', tone: 'good' },
  error: { label: 'Failed', tone: 'bad' },
  denied: { label: 'Not allowed', tone: 'warn' },
  duplicate: { label: 'Already known', tone: 'quiet' },
  timeout: { label: 'Took too long', tone: 'bad' },
  cancelled: { label: 'Cancelled', tone: 'quiet' },
  in_doubt: { label: 'Unclear whether it happened', tone: 'bad' },
};

export const purposeWords = {
  think: 'Agent Thinking',
  plan: 'Agent Planning',
  reflect: 'Agent Reflecting',
  summarize: 'Summary So Far',
  conclude: 'Closing Words',
};

export const unreadableWords = {
  unknown_subject: 'it came from an unknown address',
  invalid_utf8: 'it is not valid text',
  invalid_json: 'it is not valid JSON',
  too_deep: 'it is nested too deeply',
  not_a_fact: 'it has an unknown form',
  wrong_address: 'it claims to belong elsewhere',
  claim_missing: 'its content was lost',
  refused_by_database: 'the database refused it',
};

/** Words for one of a table's entries, or the bare key when it is new. */
export function wordsOf(table, key) {
  return table[key] ?? { label: String(key), sentence: '', tone: 'quiet' };
}
