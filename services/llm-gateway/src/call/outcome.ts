/** What the end of a model call means to whoever asked, to the books and to the routing. Pure. */
import type { ErrorCode, FallbackCause } from '@pawl/contracts';
import type { Stop } from '../providers/call-clock.ts';
import type { ModelCallResult } from '../providers/call-model.ts';
import type { StopKind } from '../ledger/entry.ts';

/** Why there is no reply. */
export type Denial = {
  code: ErrorCode;
  message: string;
  /** When it makes sense to ask again. */
  retryAfterMs?: number;
  /** On `budget_exceeded`: input tokens that the call that closes the run may have. */
  closingTokens?: number;
};

type End = ModelCallResult['end'];

/** The failure of a call, or undefined when there is a reply. */
export function denialOf(end: End): Denial | undefined {
  switch (end.kind) {
    case 'reply':
      return undefined;
    case 'refused':
    case 'broken':
      return { code: end.code, message: end.message };
    case 'busy': {
      const code = end.isRateLimit ? 'rate_limited' : 'model_unavailable';
      const wish = end.retryAfterMs === undefined ? {} : { retryAfterMs: end.retryAfterMs };
      return { code, message: end.message, ...wish };
    }
    case 'stopped':
      return denialOfStop(end.stop);
  }
}

/** The word of the books for how a call ended. `isShortened`: its limit was lower than what was asked for. */
export function stopKindOf(result: ModelCallResult, isShortened: boolean): StopKind {
  const { end, reply } = result;
  switch (end.kind) {
    case 'reply': {
      const isAtLimit = reply.choices.some(({ finishReason }) => finishReason === 'length');
      return end.isCut || (isShortened && isAtLimit) ? 'budget_cut' : 'complete';
    }
    case 'refused':
      return 'refused';
    case 'busy':
      return 'unavailable';
    case 'broken':
      return end.code === 'model_bad_reply' ? 'truncated' : 'upstream_error';
    case 'stopped':
      return stopKindOfStop(end.stop);
  }
}

/** Why a call may go to another candidate; undefined once a word of the reply is out, and for what no other can mend. */
export function fallbackCauseOf({ end, firstTokenMs }: ModelCallResult): FallbackCause | undefined {
  if (firstTokenMs !== undefined) return undefined;
  switch (end.kind) {
    case 'reply':
      return undefined;
    case 'refused':
      return end.isTooLong ? 'context_length' : 'refused';
    case 'busy':
      return end.isRateLimit ? 'rate_limited' : 'unavailable';
    case 'broken':
      return 'broken';
    case 'stopped':
      return end.stop.kind === 'timeout' && end.stop.phase !== 'total' ? 'timeout' : undefined;
  }
}

function stopKindOfStop(stop: Stop): StopKind {
  switch (stop.kind) {
    case 'timeout':
    case 'deadline':
      return 'stalled';
    case 'run-stopped':
      return 'run_stopped';
    case 'client-left':
      return 'client_abort';
    case 'shutdown':
    case 'not-held':
      return 'abandoned';
  }
}

function denialOfStop(stop: Stop): Denial {
  switch (stop.kind) {
    case 'timeout': {
      const limit = `${stop.limitMs / 1_000} s`;
      const messages = {
        headers: `the model endpoint took the request and did not answer within ${limit}`,
        firstToken: `the model endpoint sent no token within ${limit}`,
        idle: `the model endpoint fell silent for ${limit} in the middle of the reply`,
        total: `the model call took longer than ${limit}`,
      };
      return { code: 'model_unavailable', message: messages[stop.phase] };
    }
    case 'deadline':
      return { code: 'deadline', message: "The run's deadline passed while the model was being asked." };
    case 'run-stopped':
      return { code: 'run_stopped', message: 'The run was stopped while the model was being asked.' };
    case 'client-left':
      return { code: 'unavailable', message: 'The client went away while the model was being asked.' };
    case 'shutdown':
      return { code: 'unavailable', message: 'The gateway was stopped while the model was being asked.' };
    case 'not-held':
      return { code: 'unavailable', message: 'What had been set aside for the call was gone.' };
  }
}
