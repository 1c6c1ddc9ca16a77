/**
 * An agent as a model: a run of the orchestrator, started with the caller's own key. The gateway knows the run only by what
 * the orchestrator's API says.
 */
import { setTimeout as pause } from 'node:timers/promises';
import { fetch as undiciFetch, type Dispatcher } from 'undici';
import type { z } from 'zod';
import { isAtRest, problemSchema, runViewSchema, UnavailableError, type CreateRun } from '@pawl/contracts';
import { formatTraceparent } from '@pawl/telemetry';
import type { HttpCaller } from './caller.ts';
import { OpenAiError } from './openai-errors.ts';

export const agentPrefix = 'agent:';

/** What is read of a run. */
const runSchema = runViewSchema.pick({
  id: true,
  status: true,
  phase: true,
  stopReason: true,
  detail: true,
  answer: true,
  tokens: true,
  startedAt: true,
});
export type AgentRun = z.infer<typeof runSchema>;

/** The agent that a model's name means, if any. */
export function agentNameOf(model: string): string | undefined {
  return model.startsWith(agentPrefix) ? model.slice(agentPrefix.length) : undefined;
}

export type AgentCall = { run: CreateRun; caller: HttpCaller; authorization: string; signal: AbortSignal };

export type AgentModel = {
  /**
   * Starts a run and waits until it ends, pauses, or waits for a person. Throws `OpenAiError` with what the orchestrator
   * refuses, `UnavailableError` when it can't be reached. When the client leaves, the run goes on.
   */
  answer(call: AgentCall): Promise<AgentRun>;
};

const waitS = 30;
const againAfterMs = 500;
const triesMax = 5;

/** `orchestratorUrl`: absent where agents are not offered. */
export function createAgentModel(orchestratorUrl: string | undefined, dispatcher?: Dispatcher): AgentModel {
  const ask = async (call: AgentCall, path: string, body?: object): Promise<AgentRun> => {
    const { caller } = call;
    const response = await undiciFetch(new URL(path, orchestratorUrl), {
      method: body ? 'POST' : 'GET',
      headers: {
        authorization: call.authorization,
        'x-pawl-app': caller.app,
        traceparent: formatTraceparent(caller.trace),
        ...(body ? { 'content-type': 'application/json' } : {}),
        ...(body && caller.idempotencyKey !== undefined ? { 'idempotency-key': caller.idempotencyKey } : {}),
      },
      ...(body ? { body: JSON.stringify(body) } : {}),
      ...(dispatcher ? { dispatcher } : {}),
      redirect: 'error',
      signal: call.signal,
    });
    if (response.ok) return runSchema.parse(await response.json());
    throw errorOf(await response.text());
  };
  return {
    async answer(call) {
      if (orchestratorUrl === undefined) {
        const message = 'This gateway offers no agents: PAWL_ORCHESTRATOR_URL is not set.';
        throw new OpenAiError({ code: 'not_supported', message }, 'model');
      }
      let view = await tryAgain(call, () => ask(call, `/v1/runs?wait=${waitS}`, call.run), 1);
      while (!isAtRest(view)) {
        const { id } = view;
        view = await tryAgain(call, () => ask(call, `/v1/runs/${id}?wait=${waitS}`), triesMax);
      }
      return view;
    },
  };
}

async function tryAgain<T>({ signal }: AgentCall, body: () => Promise<T>, tries: number): Promise<T> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await body();
    } catch (error) {
      if (error instanceof OpenAiError || signal.aborted) throw error;
      if (attempt >= tries) throw new UnavailableError('the orchestrator does not answer', error);
      await pause(againAfterMs, undefined, { signal });
    }
  }
}

/** What the orchestrator refuses is told as it told it; whatever else it says means that it can't be used now. */
function errorOf(text: string): Error {
  try {
    const { code, detail } = problemSchema.parse(JSON.parse(text));
    if (code !== 'unavailable') return new OpenAiError({ code, message: detail });
    return new UnavailableError(detail);
  } catch {
    return new UnavailableError('the orchestrator gave no answer that makes sense');
  }
}
